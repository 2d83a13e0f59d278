/**
 * A setting that draws itself from its metadata: label and help from the dictionary; unit, bounds, default and origin from
 * the field. Saved when the person leaves the control, at once.
 */
import { RotateCcw } from "lucide-react";
import { useId, useState } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { useCommit, useDraft } from "@/lib/hooks";
import { lines } from "@/lib/lines";
import { FieldRow } from "./Field";
import { IconButton } from "./ui/button";
import { Input, TextArea } from "./ui/input";
import { Switch } from "./ui/switch";

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
  const control = { id, "aria-describedby": `${id}-help` };
  return (
    <FieldRow
      htmlFor={id}
      helpId={`${id}-help`}
      label={label}
      help={
        <>
          {help} <Bounds field={field} />
          {error && <span className="block text-blocked">{error}</span>}
        </>
      }
    >
      <Origin field={field} />
      {field.source === "stored" && (
        <IconButton label={messages.settings.resetField(label)} onClick={() => onSave(null)} disabled={saving}>
          <RotateCcw aria-hidden />
        </IconButton>
      )}
      {typeof field.value === "boolean" ? (
        <Switch {...control} checked={field.value} onCheckedChange={onSave} />
      ) : typeof field.default === "number" || typeof field.value === "number" ? (
        <NumberControl {...control} field={field} onSave={onSave} />
      ) : field.kind === "list" ? (
        <ListControl {...control} field={field} onSave={onSave} />
      ) : (
        <TextControl {...control} field={field} onSave={onSave} />
      )}
      {field.unit && <span className="w-12 text-ink-faint">{unitWord(field.unit, messages)}</span>}
    </FieldRow>
  );
}

type ControlProps = Pick<SettingFieldProps, "field" | "onSave"> & {
  id: string;
  "aria-describedby": string;
};

function NumberControl({ field, onSave, ...control }: ControlProps) {
  const messages = useMessages();
  const write = useBoundWriter(field);
  const source = field.value === null ? "" : String(field.value);
  const [draft, setDraft, edited] = useDraft(source);
  const [problem, setProblem] = useState<string | null>(null);

  const commit = useCommit(draft, edited, () => {
    if (draft.trim() === "") {
      setProblem(null);
      onSave(null);
      return;
    }
    const value = Number(draft);
    if (!Number.isInteger(value)) {
      setProblem(messages.settings.notANumber);
      return;
    }
    if ((field.min !== null && value < field.min) || (field.max !== null && value > field.max)) {
      setProblem(messages.settings.outOfRange(write(field.min ?? 0), write(field.max ?? value)));
      return;
    }
    setProblem(null);
    onSave(value);
  });

  return (
    <span className="flex flex-col items-end">
      <Input
        {...control}
        inputMode="numeric"
        value={draft}
        placeholder={String(field.default ?? "")}
        aria-invalid={problem !== null}
        onChange={(event) => setDraft(event.target.value)}
        {...commit}
        className="w-24 text-right"
      />
      {problem && (
        <span role="alert" className="mt-0.5 text-blocked text-xs">
          {problem}
        </span>
      )}
    </span>
  );
}

function TextControl({ field, onSave, ...control }: ControlProps) {
  const [draft, setDraft, edited] = useDraft(typeof field.value === "string" ? field.value : "");
  const commit = useCommit(draft, edited, () => onSave(draft.trim() || null));
  return (
    <Input
      {...control}
      mono
      value={draft}
      placeholder={String(field.default ?? "")}
      onChange={(event) => setDraft(event.target.value)}
      {...commit}
      className="w-64"
    />
  );
}

/** One entry per line; an empty list is the default. */
function ListControl({ field, onSave, ...control }: ControlProps) {
  const entries = Array.isArray(field.value) ? field.value.map(String) : [];
  const [draft, setDraft, edited] = useDraft(entries.join("\n"));
  const { onBlur } = useCommit(draft, edited, () => onSave(draft.trim() ? lines(draft) : null));
  return (
    <span className="flex w-64">
      <TextArea
        {...control}
        mono
        rows={Math.max(2, Math.min(6, draft.split("\n").length))}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={onBlur}
      />
    </span>
  );
}

function Bounds({ field }: { field: Field }) {
  const messages = useMessages();
  const write = useBoundWriter(field);
  if (field.min === null || field.max === null) return null;
  return (
    <span className="whitespace-nowrap">
      {messages.settings.range(write(field.min), write(field.max))}
      {field.default !== null && ` · ${messages.settings.defaultValue(String(field.default))}`}
    </span>
  );
}

/** Ports and the like are names, not amounts: no thousands separator without a unit. */
function useBoundWriter(field: Field): (value: number) => string {
  const format = useFormat();
  return (value) => (field.unit ? format.number(value) : String(value));
}

function Origin({ field }: { field: Field }) {
  const messages = useMessages();
  const title =
    field.source === "environment"
      ? messages.settings.originHelp.environment(field.env ?? "")
      : messages.settings.originHelp[field.source];
  return (
    <span title={title} className="text-ink-faint text-xs">
      {messages.settings.origin[field.source]}
    </span>
  );
}

/** A path the dictionary does not know is shown as it is: better honest than hidden. */
function fieldWords(path: string, messages: Messages): { label: string; help: string } {
  const { fields } = messages.settings;
  return path in fields ? fields[path as keyof typeof fields] : { label: path, help: "" };
}

function unitWord(unit: string, messages: Messages): string {
  const { units } = messages.settings;
  return unit in units ? units[unit as keyof typeof units] : unit;
}
