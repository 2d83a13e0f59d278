/** How requests wait, for combos, for their turn and for each other, and what is kept back of a quota. */
import { Section } from "@/components/Field";
import { SettingField } from "@/components/SettingField";
import type { useSettings } from "@/components/use-settings";
import { useMessages } from "@/i18n";
import { settingsUnder } from "@/lib/setting-key";
import { WindowThresholds } from "./WindowThresholds";

const groups = [
  ["comboWaiting", "comboCooldownWait"],
  ["queue", "requestQueue"],
  ["quotaShare", "quotaShareConcurrencyLimit"],
  ["preflight", "quotaPreflight"],
] as const;

export function LimitGroups({ settings }: { settings: ReturnType<typeof useSettings> }) {
  const words = useMessages().limits;
  const { read, saving, refused, save } = settings;
  return groups.map(([name, group]) => {
    const fields = settingsUnder(read.data?.fields ?? [], group);
    if (fields.length === 0) return null;
    return (
      <Section key={name} title={words[name].title} help={words[name].help}>
        {fields.map((field) =>
          field.kind === "table" ? (
            <WindowThresholds key={field.path} field={field} settings={settings} />
          ) : (
            <SettingField
              key={field.path}
              field={field}
              saving={saving}
              error={refused(field.path)}
              onSave={(value) => save(field, value)}
            />
          ),
        )}
      </Section>
    );
  });
}
