/** The control of one setting, chosen by its kind. Saves when the person leaves it, at once; `null` is the default. */
import { X } from "lucide-react";
import { useState } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { naturalSize, readSize, sizeUnit, writeSize } from "@/lib/byte-size";
import { cn } from "@/lib/cn";
import { choiceWord, fieldWords } from "@/lib/field-words";
import { useCommit, useDraft } from "@/lib/hooks";
import { lines } from "@/lib/lines";
import { sentenceCase } from "@/lib/sentence-case";
import { naturalUnit, readSpan, writeSpan } from "@/lib/time-span";
import { Input, TextArea } from "./ui/input";
import { Select } from "./ui/select";
import { Switch } from "./ui/switch";

export type SettingControlProps = {
  field: Field;
  onSave(value: JsonValue): void;
  id: string;
  "aria-label"?: string;
  "aria-describedby": string;
  "aria-invalid"?: boolean | undefined;
  /** A narrow place, where the control stands at the start. */
  compact?: boolean;
};

export function SettingControl(props: SettingControlProps) {
  const { field, onSave, compact, ...control } = props;
  if (field.kind === "boolean" && field.default === null) return <ThreeWay {...props} />;
  if (typeof field.value === "boolean") {
    return <Switch {...control} checked={field.value} onCheckedChange={onSave} />;
  }
  if (isNumber(field)) return <NumberControl {...props} />;
  if (field.kind === "choice") return <ChoiceControl {...props} />;
  if (field.kind === "list") return listsNumbers(field) ? <NumbersControl {...props} /> : <ListControl {...props} />;
  return <TextControl {...props} />;
}

function isNumber({ kind, default: byDefault, value }: Field): boolean {
  const counts = kind === "integer" || kind === "number" || kind === "duration";
  return counts || typeof byDefault === "number" || typeof value === "number";
}

function listsNumbers({ default: byDefault }: Field): boolean {
  return Array.isArray(byDefault) && byDefault.length > 0 && byDefault.every((entry) => typeof entry === "number");
}

/** The unit within the control; lengths of time and amounts of memory have the one that fits. */
function unitOf(field: Field, messages: Messages): string | null {
  const measure = measureOf(field);
  if (measure) return measure.unit;
  // What is counted says more than the gateway's bare unit.
  const { unit = field.unit } = fieldWords(field.path, messages);
  const { units } = messages.settings;
  return unit !== null && unit in units ? units[unit as keyof typeof units] : unit;
}

/** How a number is typed that nobody would write out in milliseconds or bytes. */
type Measure = {
  unit: string;
  problem: "notASpan" | "notASize";
  read(text: string): number | null;
  write(value: number): string;
};

function measureOf(field: Field): Measure | null {
  if (field.kind === "duration") {
    const unit = naturalUnit(typeof field.default === "number" ? field.default : Number(field.value ?? 0));
    return {
      unit,
      problem: "notASpan",
      read: (text) => readSpan(text, unit),
      write: (value) => writeSpan(value, unit),
    };
  }
  if (!isMemory(field)) return null;
  return { unit: sizeUnit, problem: "notASize", read: readSize, write: writeSize };
}

const SMALL_BYTES = 1_000_000;

function isMemory({ unit, max }: Field): boolean {
  return unit === "bytes" && (max ?? 0) > SMALL_BYTES;
}

/** Writes values of a setting as they are read elsewhere: `90 s`, `on`, `403, 404`. */
export function useValueWriter(field: Field): (value: JsonValue) => string {
  const messages = useMessages();
  const format = useFormat();
  const words = messages.settings;
  return (value) => {
    if (value === null) return words.automatic;
    if (typeof value === "boolean") return value ? words.on : words.off;
    if (Array.isArray(value)) return value.length > 0 ? value.join(", ") : words.none;
    if (typeof value !== "number") return String(value);
    if (field.kind === "duration") return format.span(value);
    if (isMemory(field)) {
      const { amount, unit } = naturalSize(value);
      return `${format.number(amount)} ${unit}`;
    }
    // Ports and the like are names, not amounts: no thousands separator without a unit.
    return unitOf(field, messages) ? format.number(value) : String(value);
  };
}

function NumberControl({ field, onSave, compact = false, ...control }: SettingControlProps) {
  const messages = useMessages();
  const write = useValueWriter(field);
  const format = useFormat();
  const measure = measureOf(field);
  const draw = (value: JsonValue) =>
    typeof value !== "number" ? "" : format.typed(measure ? measure.write(value) : String(value));
  const [draft, setDraft, edited] = useDraft(draw(field.value));
  const [problem, setProblem] = useState<string | null>(null);

  const unit = unitOf(field, messages);
  // Numbers of tokens need more room than counts and lengths of time.
  const isLong = measure === null && (field.max ?? 0) > 10_000_000;

  const commit = useCommit(draft, edited, () => {
    if (draft.trim() === "") {
      setProblem(null);
      onSave(null);
      return;
    }
    const value = measure ? measure.read(draft) : Number(draft.replace(",", "."));
    const fits = field.kind === "number" ? Number.isFinite(value) : Number.isInteger(value);
    if (value === null || !fits) {
      const plain = field.kind === "number" ? "notAFigure" : "notANumber";
      setProblem(messages.settings[measure?.problem ?? plain]);
      return;
    }
    if ((field.min !== null && value < field.min) || (field.max !== null && value > field.max)) {
      setProblem(messages.settings.outOfRange(write(field.min ?? 0), write(field.max ?? value)));
      return;
    }
    setProblem(null);
    // Another way to write what it is already.
    if (value === field.value) setDraft(draw(field.value));
    else onSave(value);
  });

  return (
    <span className={cn("flex flex-col", compact ? "items-start" : "items-end")}>
      <span className={cn("flex items-center", compact ? "gap-2" : "relative")}>
        <Input
          {...control}
          inputMode={measure || field.kind === "number" ? "decimal" : "numeric"}
          value={draft}
          placeholder={draw(field.default)}
          aria-invalid={problem !== null || control["aria-invalid"] === true}
          onChange={(event) => setDraft(event.target.value)}
          {...commit}
          // Within its border, so that all controls of a group end on one line.
          {...(unit && !compact && { style: { paddingRight: `calc(${unit.length}ch + 20px)` } })}
          className={cn("text-right", !compact ? "w-36" : isLong ? "w-24" : "w-16")}
        />
        {unit && (
          <span className={cn("text-ink-faint", !compact && "pointer-events-none absolute right-2.5")}>{unit}</span>
        )}
      </span>
      {problem && (
        <span role="alert" className="mt-0.5 whitespace-normal text-blocked text-xs">
          {problem}
        </span>
      )}
    </span>
  );
}

/** Yes, no, or what fits the provider. */
function ThreeWay({ field, onSave, compact, ...control }: SettingControlProps) {
  const words = useMessages().settings;
  return (
    <Select
      {...control}
      className={compact ? "w-full" : "w-36"}
      value={field.value === null ? "" : String(field.value)}
      options={[
        { value: "", label: sentenceCase(words.automatic) },
        { value: "true", label: sentenceCase(words.on) },
        { value: "false", label: sentenceCase(words.off) },
      ]}
      onChange={(chosen) => onSave(chosen === "" ? null : chosen === "true")}
    />
  );
}

function ChoiceControl({ field, onSave, compact, ...control }: SettingControlProps) {
  const messages = useMessages();
  return (
    <Select
      {...control}
      className={compact ? "w-full" : "w-64"}
      value={String(field.value)}
      options={field.choices.map((value) => ({ value, label: choiceWord(value, messages) }))}
      onChange={onSave}
    />
  );
}

function TextControl({ field, onSave, compact, ...control }: SettingControlProps) {
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
      className={compact ? "w-full" : "w-64"}
    />
  );
}

/** One entry per line; an empty list is the default. */
function ListControl({ field, onSave, compact, ...control }: SettingControlProps) {
  const entries = Array.isArray(field.value) ? field.value.map(String) : [];
  const [draft, setDraft, edited] = useDraft(entries.join("\n"));
  const { onBlur } = useCommit(draft, edited, () => onSave(draft.trim() ? lines(draft) : null));
  return (
    <span className={cn("flex", compact ? "w-full" : "w-64")}>
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

/** Numbers as chips: each with its way out, and a place to write further ones. */
function NumbersControl({ field, onSave, compact, ...control }: SettingControlProps) {
  const words = useMessages().settings;
  const write = useValueWriter(field);
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const entries = Array.isArray(field.value) ? field.value.map(Number) : [];
  const within = (value: number) =>
    Number.isInteger(value) && value >= (field.min ?? value) && value <= (field.max ?? value);

  const add = () => {
    const written = draft.split(/[\s,;]+/).filter(Boolean);
    if (written.length === 0) return;
    const values = written.map(Number);
    if (!values.every(within)) {
      setProblem(words.outOfRange(write(field.min ?? 0), write(field.max ?? 0)));
      return;
    }
    setProblem(null);
    setDraft("");
    onSave([...new Set([...entries, ...values])].sort((a, b) => a - b));
  };

  return (
    <span className="flex w-64 flex-col items-end">
      <span className="flex flex-wrap justify-end gap-1">
        {entries.map((entry) => (
          <span
            key={entry}
            className="inline-flex h-7 items-center gap-0.5 rounded-md bg-sunken pr-0.5 pl-2 inset-ring inset-ring-line"
          >
            {entry}
            <button
              type="button"
              aria-label={words.removeEntry(String(entry))}
              title={words.removeEntry(String(entry))}
              onClick={() => onSave(entries.filter((other) => other !== entry))}
              className="inline-flex size-6 items-center justify-center rounded-sm text-ink-faint hover:bg-hover hover:text-ink"
            >
              <X aria-hidden className="size-3.5" />
            </button>
          </span>
        ))}
        <Input
          {...control}
          inputMode="numeric"
          value={draft}
          placeholder={words.addEntry}
          aria-invalid={problem !== null || control["aria-invalid"] === true}
          onChange={(event) => setDraft(event.target.value)}
          onBlur={add}
          onKeyDown={(event) => {
            if (event.key === "Enter" || event.key === ",") {
              event.preventDefault();
              add();
            }
          }}
          className="h-7! w-20"
        />
      </span>
      {problem && (
        <span role="alert" className="mt-0.5 text-blocked text-xs">
          {problem}
        </span>
      )}
    </span>
  );
}
