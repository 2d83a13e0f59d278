/** Name, end, what a key may use and what it may spend. */
import type { Scope } from "@/bindings";
import { Field } from "@/components/Field";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { now } from "@/lib/clock";
import { type Expiry, type KeyFields, localDay, scopes } from "@/lib/key-draft";
import { KeyReach } from "./KeyReach";
import { KeySpending } from "./KeySpending";
import type { PartProps } from "./parts";

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
      <KeyReach fields={fields} set={set} refusal={refusal} />
      <KeySpending fields={fields} set={set} refusal={refusal} />
      <Scopes fields={fields} set={set} />
    </>
  );
}

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
            className="mt-0.5 size-4 shrink-0"
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
