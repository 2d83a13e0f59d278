/** The few settings one reaches for while something rests too long or too short; the others are on their own screen. */
import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { Section } from "@/components/Field";
import { SettingFields } from "@/components/SettingFields";
import { SettingGrid } from "@/components/SettingGrid";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useSettings } from "@/components/use-settings";
import { useMessages } from "@/i18n";
import { settingKey } from "@/lib/setting-key";

const common = ["connectionCooldown.baseCooldownMs", "connectionCooldown.maxBackoffSteps"];

export function CommonRules() {
  const words = useMessages().cooldowns;
  const { read, saving, refused, save } = useSettings();
  return (
    <Section
      title={words.rules}
      help={words.rulesHelp}
      action={
        <Link
          to="/settings/resilience"
          className="inline-flex shrink-0 items-center gap-1 text-accent-text hover:underline"
        >
          {words.allRules}
          <ArrowRight aria-hidden className="size-3.5" />
        </Link>
      }
    >
      {read.isPending && <SkeletonRows rows={3} height={72} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && (
        <>
          <SettingGrid
            label={words.rules}
            fields={read.data.fields.filter(({ path }) => common.includes(settingKey(path)))}
            saving={saving}
            refused={refused}
            onSave={save}
          />
          <div className="border-t">
            <SettingFields paths={["streamStallCooldown.enabled"]} />
          </div>
        </>
      )}
    </Section>
  );
}
