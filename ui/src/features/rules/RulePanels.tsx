/** A rule for errors: made, changed, deleted. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { notify, useReportError } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorState, Gone, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useProviderNames } from "@/components/use-provider-names";
import { useMessages } from "@/i18n";
import {
  draftOf,
  type ErrorRule,
  type RulePlace,
  refusedFields,
  ruleBounds,
  ruleCount,
  ruleKeys,
  withoutRule,
  withRule,
  withRuleChanged,
} from "@/lib/error-rules";
import { RuleForm } from "./RuleForm";
import { useErrorRules } from "./use-error-rules";

const route = getRouteApi("/settings/rules/$providerId/$position");
const addRoute = getRouteApi("/settings/rules/add");

export function AddRulePanel() {
  const words = useMessages().rules;
  const close = useClose();
  const { provider = "" } = addRoute.useSearch();
  const nameOf = useProviderNames();
  const rules = useErrorRules();
  const isFull = ruleCount(rules.table) >= ruleBounds.rules;

  const save = (provider: string, rule: ErrorRule) =>
    rules
      .change((table) => withRule(table, rule, { provider }))
      .then(() => {
        notify.done(words.saved(nameOf(provider)));
        close();
      }, ignored);
  if (isFull) {
    return (
      <SidePanel title={words.addTitle} onClose={close}>
        <p className="text-ink-soft">{words.full(ruleBounds.rules)}</p>
      </SidePanel>
    );
  }
  return (
    <RuleForm
      title={words.addTitle}
      initial={draftOf(provider)}
      action={words.create}
      ceiling={rules.ceiling}
      isPending={rules.saving || !rules.field}
      refusal={rules.refusal}
      refused={(provider) => refusedFields(rules.refusal, { provider, index: rules.table[provider]?.length ?? 0 })}
      onSave={(provider, rule) => void save(provider, rule)}
      onClose={close}
    />
  );
}

export function RulePanel() {
  const words = useMessages().rules;
  const close = useClose();
  const { providerId, position } = route.useParams();
  const rules = useErrorRules();
  const index = Number(position) - 1;
  const list = rules.table[providerId] ?? [];
  const found = list[index];
  if (found) {
    const place = { provider: providerId, index };
    return (
      <LoadedPanel
        key={`${providerId} ${ruleKeys(list)[index]}`}
        rule={found}
        place={place}
        rules={rules}
        onClose={close}
      />
    );
  }
  return (
    <SidePanel title={words.one} onClose={close}>
      {rules.read.isPending && <SkeletonRows rows={5} height={64} />}
      {rules.read.error && <ErrorState error={rules.read.error} onRetry={() => void rules.read.refetch()} />}
      {rules.field && <Gone title={words.notFound} back={words.all} onBack={close} />}
    </SidePanel>
  );
}

type LoadedProps = { rule: ErrorRule; place: RulePlace; rules: ReturnType<typeof useErrorRules>; onClose(): void };

function LoadedPanel({ rule, place, rules, onClose }: LoadedProps) {
  const messages = useMessages();
  const words = messages.rules;
  const nameOf = useProviderNames();
  const report = useReportError();
  const name = words.name(rule.status, rule.match);

  const save = (provider: string, changed: ErrorRule) =>
    rules
      .change((table) => withRuleChanged(table, place, provider, changed))
      .then(() => {
        notify.done(words.saved(nameOf(provider)));
        onClose();
      }, ignored);
  const undo = () =>
    rules.change((table) => withRule(table, rule, place)).then(() => notify.done(words.restored(name)), report);
  const deleteRule = () => {
    // The panel goes first, so that it never stands there without its rule.
    onClose();
    void rules
      .change((table) => withoutRule(table, place))
      .then(
        () => notify.undoable(words.deleted(name), { label: messages.common.undo, act: () => void undo() }),
        report,
      );
  };

  return (
    <RuleForm
      title={words.editTitle(name)}
      subtitle={nameOf(place.provider)}
      initial={draftOf(place.provider, rule)}
      action={words.save}
      ceiling={rules.ceiling}
      isPending={rules.saving}
      refusal={rules.refusal}
      refused={(provider) =>
        refusedFields(
          rules.refusal,
          provider === place.provider ? place : { provider, index: rules.table[provider]?.length ?? 0 },
        )
      }
      onSave={(provider, changed) => void save(provider, changed)}
      onClose={onClose}
      aside={
        <Button variant="danger" className="ml-auto" onClick={deleteRule}>
          <Trash2 aria-hidden />
          {words.delete}
        </Button>
      }
    />
  );
}

/** The form says what was refused. */
function ignored(): void {}

function useClose(): () => void {
  const navigate = useNavigate();
  return () => void navigate({ to: "/settings/rules" });
}
