/** What is spared after a failure, and for how long: the numbers of every class of provider, side by side. */
import { Section } from "@/components/Field";
import { Screen } from "@/components/Screen";
import { SettingField } from "@/components/SettingField";
import { SettingFields } from "@/components/SettingFields";
import { SettingGrid } from "@/components/SettingGrid";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useSettings } from "@/components/use-settings";
import { WithContents } from "@/components/WithContents";
import { useMessages } from "@/i18n";
import { settingClass, settingsUnder } from "@/lib/setting-key";
import { BanSignals } from "./BanSignals";
import { LimitGroups } from "./LimitGroups";

export function ResilienceScreen() {
  const messages = useMessages();
  const words = messages.resilience;
  const settings = useSettings();
  const { read, saving, refused, save } = settings;

  if (read.error) {
    return (
      <Screen title={words.title} help={words.help}>
        <ErrorState error={read.error} onRetry={() => void read.refetch()} />
      </Screen>
    );
  }
  if (read.isPending) {
    return (
      <Screen title={words.title} help={words.help}>
        <SkeletonRows rows={10} height={72} />
      </Screen>
    );
  }

  const under = (group: string) => settingsUnder(read.data.fields, group);
  const grid = { saving, refused, onSave: save };
  const provider = under("providerCooldown");
  return (
    <Screen title={words.title} help={words.help}>
      <WithContents>
        <Section title={words.cooldown.title} help={words.cooldown.help}>
          <SettingGrid label={words.cooldown.title} fields={under("connectionCooldown")} {...grid} />
        </Section>
        <Section title={words.breaker.title} help={words.breaker.help}>
          <SettingGrid label={words.breaker.title} fields={under("providerBreaker")} {...grid} />
        </Section>
        <Section title={words.waiting.title} help={words.waiting.help}>
          <SettingFields
            paths={["waitForCooldown.enabled", "waitForCooldown.maxRetries", "waitForCooldown.maxRetryWaitSec"]}
          />
        </Section>
        <Section title={messages.accounts.session.title} help={messages.accounts.session.help}>
          <SettingFields paths={["sessionAffinityTtlMs"]} />
        </Section>
        <LimitGroups settings={settings} />
        <Section title={messages.traffic.checks.title} help={messages.traffic.checks.help}>
          <SettingFields
            paths={["quota.refreshIntervalMs", "quota.freshForMs", "credentialHealthCheck.intervalMinutes"]}
          />
        </Section>
        <Section title={words.stall.title}>
          <SettingFields paths={["streamStallCooldown.enabled"]} />
        </Section>
        <Section title={words.slow.title} help={words.slow.help}>
          <SettingFields paths={under("streamRecovery.throughputWatchdog").map(({ path }) => path)} />
        </Section>
        <Section title={words.providerCooldown.title} help={words.providerCooldown.help}>
          {provider
            .filter(({ path }) => !settingClass(path))
            .map((field) => (
              <SettingField
                key={field.path}
                field={field}
                saving={saving}
                error={refused(field.path)}
                onSave={(value) => save(field, value)}
              />
            ))}
          {provider.some(({ path }) => settingClass(path)) && (
            <>
              <h3 className="border-t pt-3 font-medium text-ink-soft text-xs">{words.providerCooldown.windows}</h3>
              <SettingGrid
                label={words.providerCooldown.windows}
                fields={provider.filter(({ path }) => settingClass(path))}
                {...grid}
              />
            </>
          )}
        </Section>
        <BanSignals settings={settings} />
      </WithContents>
    </Screen>
  );
}
