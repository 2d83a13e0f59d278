/** A rule as one says it: when a provider's error says this, then that rests so long. */
import { Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { Field } from "@/components/Field";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import type { HostError } from "@/host";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import {
  draftProblems,
  type ErrorRule,
  type RuleDraft,
  type RuleField,
  readRest,
  ruleBounds,
  ruleOf,
  ruleReasons,
  ruleScopes,
  scopeInEffect,
} from "@/lib/error-rules";
import { lockReason } from "@/lib/lock-reason";
import { ProviderChoice } from "./ProviderChoice";
import { RecentErrors } from "./RecentErrors";

type RuleFormProps = {
  title: string;
  subtitle?: string;
  initial: RuleDraft;
  /** What saving is called. */
  action: string;
  /** Longest rest that no provider announced, in milliseconds. */
  ceiling: number | null;
  isPending: boolean;
  refusal: HostError | null;
  /** Which fields the gateway refuses of a rule of that provider. */
  refused(provider: string): ReadonlySet<RuleField>;
  onSave(provider: string, rule: ErrorRule): void;
  onClose(): void;
  /** Beside the button that saves. */
  aside?: ReactNode;
};

const FORM = "error-rule";

export function RuleForm({ initial, action, ceiling, isPending, refusal, refused, onSave, ...panel }: RuleFormProps) {
  const [typed, setTyped] = useState(initial);
  // What was refused is no longer what stands there.
  const [edited, setEdited] = useState(false);
  const connections = useRead("connections_list", {});
  const inUse = [...new Set(connections.data?.connections.map(({ provider }) => provider))];
  const draft = { ...typed, provider: typed.provider || (inUse.length === 1 ? (inUse[0] ?? "") : "") };
  const set = (part: Partial<RuleDraft>) => {
    setTyped({ ...draft, ...part });
    setEdited(true);
  };
  const rule = draft.provider ? ruleOf(draft) : null;
  const told = edited ? new Set<RuleField>() : refused(draft.provider);
  const wrong = new Set([...draftProblems(draft), ...told]);

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!rule || isPending) return;
    setEdited(false);
    onSave(draft.provider, rule);
  };
  return (
    <SidePanel
      title={panel.title}
      subtitle={panel.subtitle}
      onClose={panel.onClose}
      footer={
        <>
          <Button variant="primary" type="submit" form={FORM} disabled={!rule || isPending}>
            {action}
          </Button>
          {panel.aside}
        </>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-6">
        <When draft={draft} inUse={inUse} wrong={wrong} onEdit={set} />
        <Then draft={draft} ceiling={ceiling} wrong={wrong} onEdit={set} />
        {refusal && !edited && told.size === 0 && <ErrorLine error={refusal} />}
      </form>
    </SidePanel>
  );
}

type PartProps = { draft: RuleDraft; wrong: ReadonlySet<RuleField>; onEdit(part: Partial<RuleDraft>): void };

function When({ draft, inUse, wrong, onEdit }: PartProps & { inUse: readonly string[] }) {
  const words = useMessages().rules;
  const [lowest, highest] = ruleBounds.status;
  return (
    <Part title={words.condition}>
      <Field label={words.provider}>
        {(control) => (
          <ProviderChoice
            control={control}
            value={draft.provider}
            inUse={inUse}
            onChange={(provider) => onEdit({ provider })}
          />
        )}
      </Field>
      <div className="grid grid-cols-[88px_minmax(0,1fr)] items-start gap-x-3">
        <Field label={words.status} error={wrong.has("status") ? words.problems.status(lowest, highest) : undefined}>
          {(control) => (
            <Input
              {...control}
              inputMode="numeric"
              placeholder="429"
              maxLength={3}
              value={draft.status}
              onChange={(event) => onEdit({ status: event.target.value })}
            />
          )}
        </Field>
        <Field label={words.match} help={words.matchHelp} error={wrong.has("match") ? words.problems.match : undefined}>
          {(control) => (
            <Input
              {...control}
              mono
              placeholder={words.example.text}
              value={draft.match}
              onChange={(event) => onEdit({ match: event.target.value })}
            />
          )}
        </Field>
      </div>
      {draft.provider && <RecentErrors draft={draft} onPick={onEdit} />}
    </Part>
  );
}

function Then({ draft, ceiling, wrong, onEdit }: PartProps & { ceiling: number | null }) {
  const messages = useMessages();
  const words = messages.rules;
  const format = useFormat();
  const spared = scopeInEffect(draft) === draft.scope;
  return (
    <Part title={words.consequence}>
      <Field
        label={words.reason}
        help={words.reasonHelp[draft.reason]}
        error={wrong.has("reason") ? words.problems.reason : undefined}
      >
        {(control) => (
          <Select
            {...control}
            value={draft.reason}
            options={ruleReasons.map((value) => ({ value, label: lockReason(value, messages) }))}
            onChange={(reason) => onEdit({ reason })}
          />
        )}
      </Field>
      <Field
        label={words.scope}
        help={spared ? words.scopes[draft.scope].help : words.refusalHelp}
        error={wrong.has("scope") ? words.problems.scope : undefined}
      >
        {(control) => (
          <Select
            {...control}
            value={draft.scope}
            options={ruleScopes.map((value) => ({ value, label: words.scopes[value].label }))}
            onChange={(scope) => onEdit({ scope })}
          />
        )}
      </Field>
      <Field
        label={words.rest}
        help={<RestHelp rest={draft.rest} ceiling={ceiling} />}
        error={
          wrong.has("cooldownMs") ? words.problems.cooldownMs(format.duration(ruleBounds.longestRestMs)) : undefined
        }
      >
        {(control) => (
          <Input
            {...control}
            placeholder={words.restPlaceholder}
            value={draft.rest}
            onChange={(event) => onEdit({ rest: event.target.value })}
            className="w-40"
          />
        )}
      </Field>
    </Part>
  );
}

/** How long is held by another setting as well: said where a longer rest is asked for. */
function RestHelp({ rest, ceiling }: { rest: string; ceiling: number | null }) {
  const words = useMessages().rules;
  const format = useFormat();
  if (ceiling === null) return null;
  if ((readRest(rest) ?? 0) <= ceiling) return words.restHelp(format.span(ceiling));
  return (
    <span className="text-degraded">
      {words.restHeld(format.span(ceiling))}{" "}
      <Link
        to="/settings/lockout"
        hash="modelLockout.maxCooldownMs"
        className="whitespace-nowrap text-accent-text hover:underline"
      >
        {words.restCeiling}
      </Link>
    </span>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-4">
      <legend className="mb-3 w-full border-b pb-1.5 font-medium text-ink-soft text-xs">{title}</legend>
      {children}
    </fieldset>
  );
}
