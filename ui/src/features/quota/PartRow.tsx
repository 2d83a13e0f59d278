import { Trash2 } from "lucide-react";
import type { Key, QuotaUnit } from "@/bindings";
import { Field } from "@/components/Field";
import { IconButton } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useFormat, useMessages } from "@/i18n";
import { type PartFields, policies, shareOf } from "@/lib/pool-draft";

type PartRowProps = {
  part: PartFields;
  parts: readonly PartFields[];
  index: number;
  keys: readonly Key[];
  /** What a cap counts; nothing while the pool counts nothing. */
  capUnit: QuotaUnit | undefined;
  error: string | undefined;
  onChange(part: PartFields): void;
  onRemove(): void;
};

/** One key: its weight, what happens at the end of its share, and perhaps a cap. */
export function PartRow({ part, parts, index, keys, capUnit, error, onChange, onRemove }: PartRowProps) {
  const words = useMessages().pools;
  const format = useFormat();
  const isTaken = (key: string) => parts.some(({ apiKeyId }) => apiKeyId === key && apiKeyId !== part.apiKeyId);
  const choices = keys.filter((key) => !isTaken(key.id)).map(({ id: value, name: label }) => ({ value, label }));
  const name = keys.find((key) => key.id === part.apiKeyId)?.name ?? words.key;
  const share = shareOf(parts, index);
  return (
    <fieldset className="flex min-w-0 flex-col gap-2 rounded-md border border-line p-3">
      <legend className="sr-only">{name}</legend>
      <div className="flex items-center gap-2">
        <Select
          aria-label={words.keyAt(index + 1)}
          className="min-w-0 flex-1"
          value={part.apiKeyId}
          options={part.apiKeyId === "" ? [{ value: "", label: words.chooseKey }, ...choices] : choices}
          onChange={(apiKeyId) => onChange({ ...part, apiKeyId })}
        />
        <span className="shrink-0 text-ink-soft">{share === null ? "" : words.share(format.percent(share))}</span>
        <IconButton label={words.removePart(name)} onClick={onRemove}>
          <Trash2 aria-hidden />
        </IconButton>
      </div>
      <div className="grid grid-cols-[72px_1fr_136px] gap-2">
        <Field label={words.weight}>
          {(control) => (
            <Input
              {...control}
              inputMode="decimal"
              value={part.weight}
              onChange={(event) => onChange({ ...part, weight: event.target.value })}
            />
          )}
        </Field>
        <Field label={words.policy}>
          {(control) => (
            <Select
              {...control}
              value={part.policy}
              options={policies.map((value) => ({ value, label: words.policies[value] }))}
              onChange={(policy) => onChange({ ...part, policy })}
            />
          )}
        </Field>
        <Field label={words.cap} help={capUnit ? words.units[capUnit] : words.capNeedsLimit}>
          {(control) => (
            <Input
              {...control}
              inputMode="decimal"
              disabled={!capUnit}
              placeholder={words.noCap}
              value={part.cap}
              onChange={(event) => onChange({ ...part, cap: event.target.value })}
            />
          )}
        </Field>
      </div>
      {error && (
        <p role="alert" className="text-blocked text-xs">
          {error}
        </p>
      )}
    </fieldset>
  );
}
