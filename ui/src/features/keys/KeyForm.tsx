/** Name, end, and what a key may use. */
import { useId } from "react";
import type { Connection, Scope } from "@/bindings";
import { Choice } from "@/components/Choice";
import { Field } from "@/components/Field";
import { Input, TextArea } from "@/components/ui/input";
import { Segmented } from "@/components/ui/segmented";
import { Select } from "@/components/ui/select";
import type { HostError } from "@/host";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { now } from "@/lib/clock";
import { globMatches } from "@/lib/glob";
import { type Expiry, type KeyFields, localDay, needsConnections, scopes } from "@/lib/key-draft";
import { lines } from "@/lib/lines";

type KeyFormProps = { fields: KeyFields; onChange(fields: KeyFields): void; refusal: HostError | null };

export function KeyForm({ fields, onChange, refusal }: KeyFormProps) {
  const words = useMessages().keys;
  const set = (part: Partial<KeyFields>) => onChange({ ...fields, ...part });
  const nameError = refusal?.code === "conflict" ? words.duplicateName : refusal?.field("name");
  return (
    <>
      <Field label={words.name} help={words.nameHelp} error={nameError}>
        {(control) => (
          <Input
            {...control}
            data-autofocus
            value={fields.name}
            maxLength={120}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <ExpiryFields fields={fields} set={set} error={refusal?.field("expiresAt")} />
      <Field
        label={words.allowedModels}
        help={
          <>
            {words.allowedModelsHelp} <Matching patterns={lines(fields.models)} />
          </>
        }
        error={refusal?.field("allowedModels")}
      >
        {(control) => (
          <TextArea
            {...control}
            mono
            rows={3}
            placeholder={words.allowedModelsPlaceholder}
            value={fields.models}
            onChange={(event) => set({ models: event.target.value })}
          />
        )}
      </Field>
      <AllowedConnections fields={fields} set={set} error={refusal?.field("allowedConnections")} />
      <Scopes fields={fields} set={set} />
    </>
  );
}

type PartProps = { fields: KeyFields; set(part: Partial<KeyFields>): void; error?: string | undefined };

const expiries: readonly Expiry[] = ["never", "7", "30", "90", "365", "date"];

function ExpiryFields({ fields, set, error }: PartProps) {
  const words = useMessages().keys;
  const labelOf = (expiry: Expiry) => {
    if (expiry === "never" || expiry === "date") return words.expiry[expiry];
    return expiry === "365" ? words.expiry.year : words.expiry.days(Number(expiry));
  };
  return (
    <div className="flex items-start gap-3">
      <Field label={words.expires} help={words.expiresHelp} error={error} className="flex-1">
        {(control) => (
          <Select
            {...control}
            value={fields.expiry}
            options={expiries.map((value) => ({ value, label: labelOf(value) }))}
            onChange={(expiry) => set({ expiry })}
          />
        )}
      </Field>
      {fields.expiry === "date" && (
        <Field label={words.expiryDate} className="flex-1">
          {(control) => (
            <Input
              {...control}
              type="date"
              min={localDay(new Date(now()))}
              value={fields.date}
              onChange={(event) => set({ date: event.target.value })}
            />
          )}
        </Field>
      )}
    </div>
  );
}

/** How many of the models known now the patterns let through. */
function Matching({ patterns }: { patterns: readonly string[] }) {
  const words = useMessages().keys;
  const models = useRead("models_list", {});
  if (patterns.length === 0 || !models.data || models.data.models.length === 0) return null;
  const names = models.data.models.map((model) => model.qualified);
  const fitting = names.filter((name) => patterns.some((pattern) => globMatches(pattern, name)));
  return <span className="whitespace-nowrap">{words.matching(fitting.length, names.length)}</span>;
}

function AllowedConnections({ fields, set, error }: PartProps) {
  const words = useMessages().keys;
  const id = useId();
  const connections = useRead("connections_list", {});
  const chosen = fields.connections;
  const known = connections.data?.connections ?? [];
  // What was deleted since still stands in the key, and can be taken out of it.
  const gone = (chosen ?? []).filter((chosenId) => !known.some((connection) => connection.id === chosenId));
  const toggle = (connection: string, on: boolean) =>
    set({ connections: on ? [...(chosen ?? []), connection] : (chosen ?? []).filter((other) => other !== connection) });
  return (
    <fieldset
      aria-describedby={error || needsConnections(fields) ? id : undefined}
      className="flex min-w-0 flex-col gap-2"
    >
      <legend className="mb-1 font-medium">{words.allowedConnections}</legend>
      <Segmented
        label={words.allowedConnections}
        className="self-start"
        value={chosen === null ? "all" : "some"}
        options={[
          { value: "all", label: words.allConnections },
          { value: "some", label: words.someConnections },
        ]}
        onChange={(which) => set({ connections: which === "all" ? null : [] })}
      />
      {chosen !== null && (
        <div className="max-h-60 overflow-y-auto rounded-md border border-line py-1">
          {known.length === 0 && <p className="px-3 py-1.5 text-ink-faint">{words.noConnections}</p>}
          {known.map((connection) => (
            <ConnectionChoice
              key={connection.id}
              connection={connection}
              chosen={chosen.includes(connection.id)}
              onToggle={(on) => toggle(connection.id, on)}
            />
          ))}
          {gone.map((lost) => (
            <Choice key={lost} checked onToggle={(on) => toggle(lost, on)}>
              <code className="truncate font-mono text-ink-faint line-through">{lost}</code>
            </Choice>
          ))}
        </div>
      )}
      {(error || needsConnections(fields)) && (
        <p id={id} className="text-blocked text-xs">
          {needsConnections(fields) ? words.leaseNeedsConnection : error}
        </p>
      )}
    </fieldset>
  );
}

type ConnectionChoiceProps = { connection: Connection; chosen: boolean; onToggle(on: boolean): void };

function ConnectionChoice({ connection, chosen, onToggle }: ConnectionChoiceProps) {
  return (
    <Choice checked={chosen} onToggle={onToggle}>
      <span className="truncate" title={connection.name}>
        {connection.name}
      </span>
      <span className="ml-auto shrink-0 text-ink-faint">{connection.provider}</span>
    </Choice>
  );
}

function Scopes({ fields, set }: PartProps) {
  const words = useMessages().keys;
  const toggle = (scope: Scope, on: boolean) =>
    set({ scopes: on ? [...fields.scopes, scope] : fields.scopes.filter((other) => other !== scope) });
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="font-medium">{words.scopes}</legend>
      <p className="text-ink-faint text-xs">{words.scopesHelp}</p>
      {scopes.map((scope) => (
        <label key={scope} className="flex items-start gap-2.5">
          <input
            type="checkbox"
            checked={fields.scopes.includes(scope)}
            onChange={(event) => toggle(scope, event.target.checked)}
            className="mt-[3px] size-3.5 shrink-0 accent-accent"
          />
          <span className="min-w-0" title={scope}>
            {words.scope[scope].name}
            <span className="block text-ink-faint text-xs">{words.scope[scope].help}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
