/** How much of a quota window is kept back, by provider and window: a line each. */
import { useId } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { FieldRow } from "@/components/Field";
import { Origin, ResetButton } from "@/components/SettingField";
import { TextArea } from "@/components/ui/input";
import { useNumberLines } from "@/components/use-number-lines";
import type { useSettings } from "@/components/use-settings";
import { useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { membersOf } from "@/lib/json-members";
import type { NumberLines } from "@/lib/number-lines";
import { settingKey } from "@/lib/setting-key";

type Props = { field: Field; settings: ReturnType<typeof useSettings> };

export function WindowThresholds({ field, settings }: Props) {
  const messages = useMessages();
  const words = messages.limits.preflight;
  const id = useId();
  const { label, help } = fieldWords(field.path, messages);
  const { area, problem } = useNumberLines({
    numbers: flat(field.value),
    min: 0,
    max: 100,
    form: words.thresholdForm,
    name: /^[^/\s]+\/\S+$/,
    onSave: (numbers) => settings.save(field, nested(numbers)),
  });
  const error = problem ?? settings.refused(field.path);
  return (
    <FieldRow
      anchor={settingKey(field.path)}
      htmlFor={id}
      helpId={`${id}-help`}
      label={<span title={field.path}>{label}</span>}
      help={
        <>
          {help}
          {error && (
            <span role="alert" className="block text-blocked">
              {error}
            </span>
          )}
        </>
      }
    >
      <Origin field={field} />
      {field.source === "stored" && (
        <ResetButton label={label} disabled={settings.saving} onReset={() => settings.save(field, null)} />
      )}
      <span className="flex w-64">
        <TextArea
          id={id}
          aria-describedby={`${id}-help`}
          aria-invalid={error !== undefined || undefined}
          mono
          placeholder={words.thresholdExample}
          {...area}
        />
      </span>
    </FieldRow>
  );
}

/** `{claude: {weekly: 5}}` is `claude/weekly = 5`. */
function flat(tree: JsonValue): NumberLines {
  const windows = Object.entries(membersOf(tree)).map(([provider, of]) =>
    Object.entries(membersOf(of)).map(([window, percent]) => [`${provider}/${window}`, Number(percent)] as const),
  );
  return Object.fromEntries(windows.flat());
}

/** An empty table is the default. */
function nested(numbers: NumberLines): JsonValue {
  const tree: Record<string, Record<string, number>> = {};
  for (const [name, percent] of Object.entries(numbers)) {
    const [provider = "", ...window] = name.split("/");
    tree[provider] = { ...tree[provider], [window.join("/")]: percent };
  }
  return Object.keys(tree).length > 0 ? tree : null;
}
