/**
 * A setting that draws itself from its metadata: label and help from the dictionary; unit, bounds, default and origin from
 * the field.
 */
import { RotateCcw } from "lucide-react";
import { useId } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { settingKey } from "@/lib/setting-key";
import { FieldRow } from "./Field";
import { SettingControl, useValueWriter } from "./SettingControl";
import { IconButton } from "./ui/button";

type SettingFieldProps = {
  field: Field;
  /** `null` goes back to the default. */
  onSave(value: JsonValue): void;
  saving?: boolean;
  /** Why the gateway refused the last value. */
  error?: string | undefined;
};

export function SettingField({ field, onSave, saving = false, error }: SettingFieldProps) {
  const messages = useMessages();
  const id = useId();
  const { label, help } = fieldWords(field.path, messages);
  return (
    <FieldRow
      anchor={settingKey(field.path)}
      htmlFor={id}
      helpId={`${id}-help`}
      label={<span title={field.path}>{label}</span>}
      help={
        <>
          {help} <Bounds field={field} />
          {error && <span className="block text-blocked">{error}</span>}
        </>
      }
    >
      <Origin field={field} />
      {field.source === "stored" && <ResetButton label={label} disabled={saving} onReset={() => onSave(null)} />}
      <SettingControl
        id={id}
        aria-describedby={`${id}-help`}
        aria-invalid={error !== undefined || undefined}
        field={field}
        onSave={onSave}
      />
    </FieldRow>
  );
}

type ResetButtonProps = { label: string; disabled: boolean; onReset(): void; className?: string };

export function ResetButton({ label, disabled, onReset, className }: ResetButtonProps) {
  const words = useMessages().settings;
  return (
    <IconButton label={words.resetField(label)} onClick={onReset} disabled={disabled} {...(className && { className })}>
      <RotateCcw aria-hidden />
    </IconButton>
  );
}

/** What nobody ever reaches bounds nothing. */
const UNREACHED = 1_000_000_000_000;

type BoundsProps = {
  field: Field;
  withDefault?: boolean;
  /** Stands before them, where there are any. */
  lead?: string;
};

/** From where to where, and what it is when nobody chooses. */
export function Bounds({ field, withDefault = true, lead = "" }: BoundsProps) {
  const words = useMessages().settings;
  const write = useValueWriter(field);
  const range =
    field.min === null || field.max === null || field.max >= UNREACHED
      ? null
      : words.range(write(field.min), write(field.max));
  const byDefault = withDefault && tellsDefault(field) ? words.defaultValue(write(field.default)) : null;
  if (!range && !byDefault) return null;
  return (
    <>
      {lead}
      <span className="whitespace-nowrap">{[range, byDefault].filter(Boolean).join(" · ")}</span>
    </>
  );
}

/** Long lists and free texts say their default where they are empty. */
function tellsDefault({ kind, default: byDefault }: Field): boolean {
  return kind === "boolean" || typeof byDefault === "number" || (Array.isArray(byDefault) && byDefault.length > 0);
}

export function Origin({ field }: { field: Field }) {
  const words = useMessages().settings;
  const title =
    field.source === "environment" ? words.originHelp.environment(field.env ?? "") : words.originHelp[field.source];
  return (
    <span title={title} className="text-ink-faint text-xs">
      {words.origin[field.source]}
    </span>
  );
}
