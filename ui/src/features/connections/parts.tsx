/** What the settings of a connection are made of. */
import { type ReactNode, useId, useState } from "react";
import { Field } from "@/components/Field";
import { Input, TextArea } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { useMessages } from "@/i18n";
import { useCommit, useDraft } from "@/lib/hooks";

export function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="flex flex-col gap-4">
      <h3 className="border-b pb-1.5 font-medium text-ink-soft text-xs">{title}</h3>
      {children}
    </section>
  );
}

type SwitchRowProps = { label: string; help: string; checked: boolean; onChange(on: boolean): void };

export function SwitchRow({ label, help, checked, onChange }: SwitchRowProps) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4">
      <div>
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        <p id={`${id}-help`} className="text-ink-faint text-xs">
          {help}
        </p>
      </div>
      <Switch id={id} aria-describedby={`${id}-help`} checked={checked} onCheckedChange={onChange} className="mt-0.5" />
    </div>
  );
}

type TextFieldProps = {
  label: string;
  help?: string;
  value: string;
  placeholder?: string | undefined;
  unit?: string;
  error?: string | undefined;
  mono?: boolean;
  numeric?: boolean;
  multiline?: boolean;
  onSave(text: string): void;
};

/** A text that is saved when it is left, or with ⏎. */
export function TextField({
  label,
  help,
  value,
  placeholder,
  unit,
  error,
  mono = false,
  numeric,
  multiline,
  onSave,
}: TextFieldProps) {
  const messages = useMessages();
  const [draft, setDraft, edited] = useDraft(value);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const commit = useCommit(draft, edited, () => {
    if (numeric && draft.trim() !== "" && !/^[1-9]\d*$/.test(draft.trim())) {
      setProblem(messages.settings.notANumber);
      return;
    }
    setProblem(undefined);
    onSave(draft.trim());
  });
  const shared = { value: draft, placeholder: placeholder ?? "", mono, onBlur: commit.onBlur };
  return (
    <Field label={label} help={help} error={problem ?? error}>
      {(control) =>
        multiline ? (
          <TextArea {...control} {...shared} rows={2} onChange={(event) => setDraft(event.target.value)} />
        ) : (
          <span className="flex items-center gap-2">
            <Input
              {...control}
              {...shared}
              inputMode={numeric ? "numeric" : "text"}
              className={numeric ? "w-24" : "w-full"}
              onChange={(event) => setDraft(event.target.value)}
              onKeyDown={commit.onKeyDown}
            />
            {unit && <span className="text-ink-faint">{unit}</span>}
          </span>
        )
      }
    </Field>
  );
}
