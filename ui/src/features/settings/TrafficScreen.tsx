/** How requests pass through the gateway: out to the providers, and back to the agents. */
import { Section } from "@/components/Field";
import { Screen } from "@/components/Screen";
import { SettingFields } from "@/components/SettingFields";
import { ErrorState } from "@/components/States";
import { WithContents } from "@/components/WithContents";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { trafficSectionNames, trafficSections } from "@/lib/traffic-settings";

export function TrafficScreen() {
  const words = useMessages().traffic;
  const settings = useRead("settings_fields", null);
  return (
    <Screen title={words.title} help={words.help}>
      {settings.error ? (
        <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
      ) : (
        <WithContents>
          {trafficSectionNames.map((name) => (
            <Section key={name} title={words.sections[name].title} help={words.sections[name].help}>
              <SettingFields paths={trafficSections[name]} />
            </Section>
          ))}
        </WithContents>
      )}
    </Screen>
  );
}
