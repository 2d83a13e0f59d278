/** Settings of the gateway as they would be: chosen by name, set for the simulation alone. */
import { X } from "lucide-react";
import { useId } from "react";
import type { SettingField as Field, Value } from "@/bindings";
import { FieldRow } from "@/components/Field";
import { SettingControl, useValueWriter } from "@/components/SettingControl";
import { Bounds } from "@/components/SettingField";
import { IconButton } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { useRead } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { settingClass } from "@/lib/setting-key";

type SettingChangesProps = {
  changes: ReadonlyMap<string, Value>;
  onChange(changes: ReadonlyMap<string, Value>): void;
};

/** What the gateway listens on and writes down has no part in routing. */
const apart = /^(gateway|logging|network|comboDefaults)\b/;

export function SettingChanges({ changes, onChange }: SettingChangesProps) {
  const messages = useMessages();
  const words = messages.simulate;
  const read = useRead("settings_fields", null);
  const fields = (read.data?.fields ?? []).filter(({ path }) => !apart.test(path));
  const chosen = fields.filter(({ path }) => changes.has(path));
  const others = fields.filter(({ path }) => !changes.has(path));
  const set = (path: string, value: Value) => onChange(new Map(changes).set(path, value));
  const leave = (path: string) => {
    const next = new Map(changes);
    next.delete(path);
    onChange(next);
  };
  return (
    <div className="py-3">
      <h3 className="font-medium">{words.settings}</h3>
      {chosen.map((field) => (
        <ChangedSetting
          key={field.path}
          field={{ ...field, value: changes.get(field.path) ?? field.default }}
          now={field.value}
          onSave={(value) => set(field.path, value)}
          onLeave={() => leave(field.path)}
        />
      ))}
      <Select
        aria-label={words.addSettingLabel}
        className="mt-2 w-full max-w-[440px]"
        value=""
        options={[
          { value: "", label: words.addSetting },
          ...others.map((field) => ({ value: field.path, label: nameOf(field, messages) })),
        ]}
        onChange={(path) => {
          const field = fields.find((candidate) => candidate.path === path);
          if (field) set(path, field.value);
        }}
      />
    </div>
  );
}

type ChangedSettingProps = { field: Field; now: Value; onSave(value: Value): void; onLeave(): void };

function ChangedSetting({ field, now, onSave, onLeave }: ChangedSettingProps) {
  const messages = useMessages();
  const words = messages.simulate;
  const write = useValueWriter(field);
  const id = useId();
  const label = nameOf(field, messages);
  return (
    <FieldRow
      htmlFor={id}
      helpId={`${id}-help`}
      label={<span title={field.path}>{label}</span>}
      help={
        <>
          {words.nowValue(write(now))}
          <Bounds field={field} withDefault={false} lead=" · " />
        </>
      }
    >
      <SettingControl id={id} aria-describedby={`${id}-help`} field={field} onSave={onSave} />
      <IconButton label={words.removeSetting(label)} onClick={onLeave}>
        <X aria-hidden />
      </IconButton>
    </FieldRow>
  );
}

/** With the class of provider it holds for, where there is one of each. */
function nameOf({ path }: Field, messages: Messages): string {
  const { label } = fieldWords(path, messages);
  const providers = settingClass(path);
  return providers ? `${label} (${messages.classes[providers].name})` : label;
}
