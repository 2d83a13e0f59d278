/** Some of the gateway's settings, in the order given. Each is saved by itself and shows its own refusal. */
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { settingKey } from "@/lib/setting-key";
import { SettingField } from "./SettingField";
import { ErrorState, SkeletonRows } from "./States";
import { useSettings } from "./use-settings";

type SettingFieldsProps = {
  /** Paths, or keys as the dictionary has them. */
  paths: readonly string[];
  /** What a conflict means, by path. */
  refusals?: Readonly<Record<string, string>>;
  onSaved?(field: Field, value: JsonValue): void;
};

export function SettingFields({ paths, refusals = {}, onSaved }: SettingFieldsProps) {
  const settings = useSettings({ refusals, onSaved });
  const { read } = settings;
  if (read.isPending) return <SkeletonRows rows={paths.length} height={56} />;
  if (read.error) return <ErrorState error={read.error} onRetry={() => void read.refetch()} />;
  return paths
    .flatMap((path) => read.data.fields.filter((field) => field.path === path || settingKey(field.path) === path))
    .map((field) => (
      <SettingField
        key={field.path}
        field={field}
        saving={settings.saving}
        error={settings.refused(field.path)}
        onSave={(value) => settings.save(field, value)}
      />
    ));
}
