/** What errors mean by a person's own rules: provider by provider, in the order they are tried. */
import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { Announcement } from "@/components/DataTable";
import { Section } from "@/components/Field";
import { ListScreen } from "@/components/ListScreen";
import { notify, useReportError } from "@/components/notify";
import { Origin, ResetButton } from "@/components/SettingField";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { type ErrorRule, ruleBounds, ruleCount, rulesPath, withRuleMoved } from "@/lib/error-rules";
import { RuleList } from "./RuleList";
import { useErrorRules } from "./use-error-rules";

export function RulesScreen() {
  const messages = useMessages();
  const words = messages.rules;
  const navigate = useNavigate();
  const rules = useErrorRules();
  const [filter, setFilter] = useState("");
  const count = ruleCount(rules.table);
  const isFull = count >= ruleBounds.rules;

  return (
    <>
      <ListScreen
        title={words.title}
        help={words.help}
        read={rules.read}
        count={count}
        filter={{ label: words.filter, value: filter, onChange: setFilter }}
        add={{
          label: words.add,
          run: () => void navigate({ to: "/settings/rules/add" }),
          disabled: isFull,
          why: isFull ? words.full(ruleBounds.rules) : undefined,
        }}
        empty={{ title: words.emptyTitle, help: words.emptyHelp }}
      >
        {rules.field && (
          <div data-setting={rulesPath}>
            {(count > 0 || rules.field.source !== "default") && <Whole rules={rules} count={count} />}
            {count === 0 ? <Example /> : <Providers rules={rules} filter={filter} />}
          </div>
        )}
      </ListScreen>
      <Outlet />
    </>
  );
}

type PartProps = { rules: ReturnType<typeof useErrorRules> };

/** How many there are, where they come from, and the way back to the default. */
function Whole({ rules, count }: PartProps & { count: number }) {
  const messages = useMessages();
  const words = messages.rules;
  const report = useReportError();
  const { field, table } = rules;
  if (!field) return null;
  const bringBack = () => rules.change(() => table).then(() => notify.done(words.allRestored), report);
  const reset = () =>
    rules
      .reset()
      .then(
        () => notify.undoable(words.allDeleted, { label: messages.common.undo, act: () => void bringBack() }),
        report,
      );
  return (
    <div className="flex min-h-6 flex-wrap items-center gap-x-1.5 text-ink-faint text-xs">
      <span>{words.count(count, ruleBounds.rules)}</span>
      <span aria-hidden>·</span>
      <Origin field={field} />
      {field.source === "stored" && (
        <ResetButton
          label={words.fields[rulesPath].label}
          disabled={rules.saving}
          onReset={() => void reset()}
          className="size-6"
        />
      )}
    </div>
  );
}

function Providers({ rules, filter }: PartProps & { filter: string }) {
  const messages = useMessages();
  const words = messages.rules;
  const navigate = useNavigate();
  const nameOf = useProviderNames();
  const connections = useRead("connections_list", {});
  const { providerId, position } = useParams({ strict: false });
  const order = useOrder(rules);
  const wanted = filter.trim().toLowerCase();
  const sections = Object.entries(rules.table)
    .map(([provider, list]) => ({ provider, list, shown: matching(provider, nameOf(provider), list, wanted) }))
    .filter(({ shown }) => shown.length > 0)
    .sort((a, b) => nameOf(a.provider).localeCompare(nameOf(b.provider)));
  if (sections.length === 0) return <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>;

  return (
    <>
      {sections.some(({ list }) => list.length > 1) && <p className="text-ink-faint text-xs">{words.orderHelp}</p>}
      {sections.map(({ provider, list, shown }) => (
        <div key={provider} className="mt-6">
          <Section
            title={nameOf(provider)}
            {...(connections.data?.connections.every((c) => c.provider !== provider) && { help: words.notConnected })}
          >
            <RuleList
              providerName={nameOf(provider)}
              rules={list}
              shown={shown}
              ceiling={rules.ceiling}
              openIndex={provider === providerId ? Number(position) - 1 : undefined}
              onOpen={(index) =>
                void navigate({
                  to: "/settings/rules/$providerId/$position",
                  params: { providerId: provider, position: String(index + 1) },
                })
              }
              onMove={(from, to) => order.move(provider, from, to)}
            />
          </Section>
        </div>
      ))}
      <Announcement text={order.announcement} />
    </>
  );
}

function matching(provider: string, name: string, rules: readonly ErrorRule[], wanted: string): number[] {
  return rules.flatMap(({ status, match }, index) =>
    `${name} ${provider} ${status} ${match}`.toLowerCase().includes(wanted) ? [index] : [],
  );
}

/** Moves a rule at once; puts it back when the gateway refuses. An open panel goes on with its own rule. */
function useOrder(rules: PartProps["rules"]) {
  const words = useMessages().rules;
  const report = useReportError();
  const navigate = useNavigate();
  const { providerId, position } = useParams({ strict: false });
  const [announcement, setAnnouncement] = useState("");

  const move = (provider: string, from: number, to: number) => {
    const list = rules.table[provider] ?? [];
    const rule = list[from];
    if (!rule) return;
    const edit = (table: typeof rules.table) => withRuleMoved(table, provider, from, to);
    const saved = rules.change(edit);
    rules.foresee(edit);
    const open = provider === providerId ? list[Number(position) - 1] : undefined;
    if (open) {
      const now = (edit(rules.table)[provider] ?? []).indexOf(open);
      void navigate({
        to: "/settings/rules/$providerId/$position",
        params: { providerId: provider, position: String(now + 1) },
        replace: true,
      });
    }
    setAnnouncement(words.moved(words.name(rule.status, rule.match), to + 1, list.length));
    saved.catch((error) => {
      report(error);
      rules.recall();
    });
  };
  return { move, announcement };
}

/** One error told twice, without a rule and with one. */
function Example() {
  const { example } = useMessages().rules;
  return (
    <section aria-labelledby="rules-example" className="max-w-[520px] border-l-2 pl-4">
      <h3 id="rules-example" className="font-medium text-ink-soft text-xs">
        {example.title}
      </h3>
      <p className="mt-1 font-medium">{example.said("400", example.text)}</p>
      <p className="mt-1 text-ink-soft">{example.without}</p>
      <p className="mt-1 text-ink-soft">{example.withRule}</p>
    </section>
  );
}
