/** Settings of a combo, kept in its draft: label, bounds, default, where the value comes from, and the way back. */
import { useId } from "react";
import type { SettingField as Field, Value } from "@/bindings";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import type { ComboConfig } from "@/lib/combo-draft";
import { type ComboLevel, chosenForProvider, comboField, FOR_ALL, valueAt, withSetting } from "@/lib/combo-settings";
import { fieldWords } from "@/lib/field-words";
import { FieldRow } from "./Field";
import { ModelPicker } from "./ModelPicker";
import { SettingControl } from "./SettingControl";
import { Bounds, Origin, ResetButton } from "./SettingField";

type ComboSettingsProps = {
  names: readonly string[];
  config: ComboConfig;
  onChange(config: ComboConfig): void;
  /** What the gateway says about a setting, by `config.name`. */
  problem?(field: string): string | undefined;
  level?: ComboLevel;
  /** Of a combo: the provider that all its steps lead to. */
  provider?: string | null;
};

export function ComboSettings(props: ComboSettingsProps) {
  const { names, config, onChange, problem, level = "combo", provider = null } = props;
  const gateway = useRead("settings_fields", null);
  const fields = gateway.data?.fields ?? [];
  // What was chosen for all is the configuration itself then; only what stands below it shows through.
  const below = level === "all" ? fields.filter(({ source }) => source === "environment") : fields;
  const ofProvider = provider === null ? {} : chosenForProvider(fields, provider);
  return names.map((name) => (
    <ComboSetting
      key={name}
      anchor={level === "all" ? `${FOR_ALL}${name}` : undefined}
      field={comboField(name, config, below, ofProvider)}
      isOfProvider={valueAt(ofProvider, name) !== undefined}
      error={problem?.(`config.${name}`)}
      onSave={(value) => onChange(withSetting(config, name, value))}
    />
  ));
}

type ComboSettingProps = {
  field: Field;
  /** Where it holds for all combos: the address that leads to it. */
  anchor: string | undefined;
  /** What it inherits is said for its provider. */
  isOfProvider: boolean;
  error: string | undefined;
  onSave(value: Value): void;
};

function ComboSetting({ field, anchor, isOfProvider, error, onSave }: ComboSettingProps) {
  const messages = useMessages();
  const id = useId();
  const { label, help } = fieldWords(field.path, messages);
  const control = {
    id,
    "aria-describedby": `${id}-help`,
    "aria-invalid": error !== undefined || undefined,
  };
  return (
    <FieldRow
      {...(anchor && { anchor })}
      htmlFor={id}
      helpId={`${id}-help`}
      label={<span title={field.path.replace(/^combo\./, "")}>{label}</span>}
      help={
        <>
          {help} <Bounds field={field} />
          {error && <span className="block text-blocked">{error}</span>}
        </>
      }
    >
      {anchor ? <Origin field={field} /> : <OriginInCombo source={field.source} isOfProvider={isOfProvider} />}
      {field.source === "stored" && <ResetButton label={label} disabled={false} onReset={() => onSave(null)} />}
      {field.kind === "model" ? (
        <ModelChoice control={control} value={String(field.value ?? "")} onSave={onSave} />
      ) : (
        <SettingControl {...control} field={field} onSave={onSave} />
      )}
    </FieldRow>
  );
}

function OriginInCombo({ source, isOfProvider }: { source: Field["source"]; isOfProvider: boolean }) {
  const words = useMessages().combos;
  const origin = source === "environment" && isOfProvider ? "provider" : source;
  return (
    <span title={words.originHelp[origin]} className="text-ink-faint text-xs">
      {words.origin[origin]}
    </span>
  );
}

type ModelChoiceProps = {
  control: React.ComponentProps<typeof ModelPicker>["control"] & object;
  value: string;
  onSave(value: Value): void;
};

function ModelChoice({ control, value, onSave }: ModelChoiceProps) {
  const messages = useMessages();
  const models = useRead("models_list", {});
  return (
    <span className="w-64">
      <ModelPicker
        control={control}
        value={value}
        none={messages.settings.automatic}
        models={models.data?.models.map(({ qualified }) => qualified) ?? []}
        onChange={(model) => onSave(model || null)}
      />
    </span>
  );
}
