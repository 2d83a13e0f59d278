/** When a model rests although its account is fine, and how its lock grows. */
import { Link } from "@tanstack/react-router";
import type { SettingField as Field } from "@/bindings";
import { Section } from "@/components/Field";
import { Screen } from "@/components/Screen";
import { SettingField } from "@/components/SettingField";
import { ErrorState, SkeletonRows } from "@/components/States";
import { buttonClass } from "@/components/ui/button";
import { useSettings } from "@/components/use-settings";
import { useFormat, useMessages } from "@/i18n";
import { escalation } from "@/lib/escalation";
import { settingKey, settingsUnder } from "@/lib/setting-key";

export function ModelLockoutScreen() {
  const words = useMessages().modelLockout;
  const { read, saving, refused, save } = useSettings();
  const fields = settingsUnder(read.data?.fields ?? [], "modelLockout");
  return (
    <Screen
      narrow
      title={words.title}
      help={words.help}
      actions={
        <Link to="/settings/cooldowns" className={buttonClass()}>
          {words.restingNow}
        </Link>
      }
    >
      {read.isPending && <SkeletonRows rows={7} height={56} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && (
        <div className="max-w-[760px]">
          <Section title={words.rule}>
            {fields.map((field) => (
              <SettingField
                key={field.path}
                field={field}
                saving={saving}
                error={refused(field.path)}
                onSave={(value) => save(field, value)}
              />
            ))}
          </Section>
          <Section title={words.ladder} help={words.ladderHelp}>
            <Ladder fields={fields} />
          </Section>
        </div>
      )}
    </Screen>
  );
}

/** The lock of each failure in a row, as the settings above make it. */
function Ladder({ fields }: { fields: readonly Field[] }) {
  const words = useMessages().modelLockout;
  const format = useFormat();
  const value = (name: string) => fields.find(({ path }) => settingKey(path) === `modelLockout.${name}`)?.value;
  const ceiling = Number(value("maxCooldownMs"));
  const lengths = escalation({
    base: Number(value("baseCooldownMs")),
    ceiling,
    steps: Number(value("maxBackoffSteps")),
    doubles: value("useExponentialBackoff") === true,
  });
  const longest = lengths.at(-1) ?? 0;
  return (
    <ol className="grid grid-cols-[max-content_1fr] items-center gap-x-4 gap-y-1.5 py-3">
      {lengths.map((length, index) => (
        <li key={length} className="contents">
          <span className="text-ink-faint">{words.failure(index + 1)}</span>
          <span className="flex items-center gap-2.5">
            <span
              aria-hidden
              className="h-2 min-w-1 rounded-full bg-cooling"
              style={{ width: `${longest > 0 ? (length / longest) * 70 : 0}%` }}
            />
            <span className="whitespace-nowrap">{format.duration(length)}</span>
            {index === lengths.length - 1 && <span className="text-ink-faint">{words.further}</span>}
          </span>
        </li>
      ))}
    </ol>
  );
}
