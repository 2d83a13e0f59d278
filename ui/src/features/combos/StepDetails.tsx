/** What can be said about a single step. */
import { Link } from "@tanstack/react-router";
import { ChevronsUpDown } from "lucide-react";
import { useId } from "react";
import type { ComboStep, Strategy } from "@/bindings";
import { ChoiceList } from "@/components/ChoiceList";
import { Field, FieldRow } from "@/components/Field";
import { buttonClass } from "@/components/ui/button";
import { controlClass, Input, TextArea } from "@/components/ui/input";
import { Segmented } from "@/components/ui/segmented";
import { Select } from "@/components/ui/select";
import { Switch } from "@/components/ui/switch";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { type ModelStep, redirected, targetOf } from "@/lib/combo-draft";
import { useDraft } from "@/lib/hooks";
import { usesPrompts } from "@/lib/strategies";
import { TargetPicker } from "./TargetPicker";

type StepDetailsProps = { step: ComboStep; strategy: Strategy; self: string; onChange(step: ComboStep): void };

export function StepDetails({ step, strategy, self, onChange }: StepDetailsProps) {
  const words = useMessages().combos;
  const combos = useRead("combos_list", { includeHidden: true });
  const inner = step.kind === "combo-ref" ? combos.data?.combos.find(({ name }) => name === step.comboName) : undefined;
  return (
    <div className="flex flex-col gap-4 pt-1">
      <div className="grid grid-cols-2 gap-x-4">
        <Field label={words.leadsTo}>
          {(control) => (
            <span className="flex min-w-0 gap-2">
              <TargetPicker
                self={self}
                onChoose={(target) => onChange(redirected(step, target))}
                trigger={
                  <button
                    type="button"
                    {...control}
                    className={cn(controlClass, "flex flex-1 items-center justify-between gap-2 text-left")}
                  >
                    <span className="min-w-0 truncate font-mono" title={targetOf(step)}>
                      {targetOf(step)}
                    </span>
                    <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
                  </button>
                }
              />
              {inner && (
                <Link
                  to="/combos/$comboId"
                  params={{ comboId: inner.id }}
                  className={buttonClass({ variant: "ghost" })}
                >
                  {words.openCombo}
                </Link>
              )}
            </span>
          )}
        </Field>
        <Field label={words.label} help={words.labelHelp} optional>
          {(control) => (
            <Input
              {...control}
              value={step.label ?? ""}
              maxLength={100}
              onChange={(event) => onChange({ ...step, label: event.target.value || null })}
            />
          )}
        </Field>
      </div>
      {step.kind === "model" && <ModelDetails step={step} strategy={strategy} onChange={onChange} />}
    </div>
  );
}

type ModelDetailsProps = { step: ModelStep; strategy: Strategy; onChange(step: ComboStep): void };

function ModelDetails({ step, strategy, onChange }: ModelDetailsProps) {
  const words = useMessages().combos;
  const quotaId = useId();
  return (
    <>
      <Accounts step={step} onChange={onChange} />
      {usesPrompts(strategy) && (
        <Field label={words.prompt} help={words.promptHelp} optional>
          {(control) => (
            <TextArea
              {...control}
              rows={3}
              value={step.prompt ?? ""}
              onChange={(event) => onChange({ ...step, prompt: event.target.value || null })}
            />
          )}
        </Field>
      )}
      <Tags step={step} onChange={onChange} />
      <FieldRow htmlFor={quotaId} helpId={`${quotaId}-help`} label={words.quotaOnly} help={words.quotaOnlyHelp}>
        <Switch
          id={quotaId}
          aria-describedby={`${quotaId}-help`}
          checked={step.fallbackOnlyOnQuotaExhaustion ?? false}
          onCheckedChange={(fallbackOnlyOnQuotaExhaustion) => onChange({ ...step, fallbackOnlyOnQuotaExhaustion })}
        />
      </FieldRow>
    </>
  );
}

function Tags({ step, onChange }: { step: ModelStep; onChange(step: ComboStep): void }) {
  const words = useMessages().combos;
  const [text, setText, edited] = useDraft((step.tags ?? []).join(", "));
  const commit = () => {
    if (!edited) return;
    const tags = text.split(",").map((tag) => tag.trim());
    onChange({ ...step, tags: [...new Set(tags.filter(Boolean))] });
  };
  return (
    <Field label={words.tags} help={words.tagsHelp} optional>
      {(control) => (
        <Input {...control} value={text} onChange={(event) => setText(event.target.value)} onBlur={commit} />
      )}
    </Field>
  );
}

type Choice = "any" | "some" | "one";

/** Which of the provider's connections may serve the step. */
function Accounts({ step, onChange }: { step: ModelStep; onChange(step: ComboStep): void }) {
  const messages = useMessages();
  const words = messages.combos;
  const nameOf = useProviderNames();
  const read = useRead("connections_list", { provider: step.providerId });
  const connections = read.data?.connections ?? [];
  const { connectionId, allowedConnectionIds = [] } = step;
  const choice: Choice = connectionId ? "one" : allowedConnectionIds.length > 0 ? "some" : "any";
  const permit = (one: string | null, some: string[]) =>
    onChange({ ...step, connectionId: one, allowedConnectionIds: some });

  const choose = (next: Choice) => {
    const first = connectionId ?? allowedConnectionIds[0] ?? connections[0]?.id;
    if (next === "any") permit(null, []);
    else if (next === "one") permit(first ?? null, []);
    else permit(null, connectionId ? [connectionId] : connections.map(({ id }) => id));
  };

  return (
    <fieldset className="flex min-w-0 flex-col items-start gap-1">
      <legend className="mb-1 font-medium">{words.accounts}</legend>
      {read.data && connections.length === 0 && choice === "any" ? (
        <p className="text-ink-faint">{words.accountsNone(nameOf(step.providerId))}</p>
      ) : (
        <>
          <Segmented
            label={words.accounts}
            value={choice}
            options={[
              { value: "any", label: words.accountsAny },
              { value: "some", label: words.accountsSome },
              { value: "one", label: words.accountsOne },
            ]}
            onChange={choose}
          />
          <p className="text-ink-faint text-xs">{words.accountsHelp[choice]}</p>
          {choice === "one" && (
            <Select
              aria-label={words.accountsOne}
              className="mt-1 w-full max-w-80"
              value={connectionId ?? ""}
              options={[
                ...(connections.some(({ id }) => id === connectionId)
                  ? []
                  : [{ value: connectionId ?? "", label: words.accountsGone }]),
                ...connections.map(({ id, name }) => ({ value: id, label: name })),
              ]}
              onChange={(id) => permit(id, [])}
            />
          )}
          {choice === "some" && (
            <div className="mt-1 w-full max-w-120">
              <ChoiceList
                known={connections.map(({ id, name }) => ({ id, name }))}
                chosen={allowedConnectionIds}
                gone={
                  read.data
                    ? allowedConnectionIds.filter((id) => !connections.some((connection) => connection.id === id))
                    : []
                }
                none={null}
                filterLabel={messages.connections.filter}
                onToggle={(id, on) =>
                  permit(
                    null,
                    on ? [...allowedConnectionIds, id] : allowedConnectionIds.filter((other) => other !== id),
                  )
                }
              />
            </div>
          )}
        </>
      )}
    </fieldset>
  );
}
