/** Settings by the names of their environment variables: what holds, why, and what it hides. */
import { RotateCw } from "lucide-react";
import { useId, useState } from "react";
import type { FeatureFlag, Value as JsonValue } from "@/bindings";
import { FieldRow, Section } from "@/components/Field";
import { FilterInput } from "@/components/FilterInput";
import { Screen } from "@/components/Screen";
import { ResetButton } from "@/components/SettingField";
import { SettingFields } from "@/components/SettingFields";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Select } from "@/components/ui/select";
import { Switch } from "@/components/ui/switch";
import { useChange, useRead } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { errorWords } from "@/lib/error-words";
import { groupBy } from "@/lib/group-by";
import { settingKey } from "@/lib/setting-key";

export function FlagsScreen() {
  const words = useMessages().flags;
  const read = useRead("feature_flags_list", null);
  const [filter, setFilter] = useState("");
  const flags = read.data?.flags ?? [];
  const found = flags.filter((flag) => matches(flag, filter, words));
  return (
    <Screen
      narrow
      title={words.title}
      help={words.help}
      actions={<FilterInput label={words.filter} value={filter} onChange={setFilter} />}
    >
      <div className="max-w-[760px]">
        {read.isPending && <SkeletonRows rows={8} height={56} />}
        {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
        {read.data && found.length === 0 && <EmptyState title={words.none} help={words.noneHelp} />}
        {[...groupBy(found, ({ group }) => group)].map(([group, members]) => (
          <Section key={group} title={words.groups[group]}>
            {members.map((flag) => (
              <Flag key={flag.name} flag={flag} />
            ))}
          </Section>
        ))}
        {filter === "" && read.data && (
          <Section title={words.lastResort.title} help={words.lastResort.help}>
            <SettingFields
              paths={[
                "routing.emergencyFallback.provider",
                "routing.emergencyFallback.model",
                "routing.emergencyFallback.maxOutputTokens",
              ]}
            />
          </Section>
        )}
      </div>
    </Screen>
  );
}

function Flag({ flag }: { flag: FeatureFlag }) {
  const messages = useMessages();
  const words = messages.flags;
  const id = useId();
  const set = useChange("feature_flag_set");
  const unset = useChange("feature_flag_unset");
  const { label, help } = told(flag, words);
  const failure = set.error ?? unset.error;
  const isHidden = flag.source === "stored" && flag.environment !== null;
  const origin = messages.settings;
  const title =
    flag.source === "environment" ? origin.originHelp.environment(flag.name) : origin.originHelp[flag.source];
  return (
    <FieldRow
      anchor={settingKey(flag.setting)}
      htmlFor={id}
      helpId={`${id}-help`}
      label={label}
      help={
        <>
          {label !== flag.name && <code className="mr-1.5 select-text font-mono">{flag.name}</code>}
          {help}
          {isHidden && <span className="block text-degraded">{words.hidden(written(flag.environment, messages))}</span>}
          {failure && (
            <span className="block text-blocked">{failure.field("value") ?? errorWords(failure, messages).title}</span>
          )}
        </>
      }
    >
      {flag.restartNeeded && (
        <span title={words.restartHelp} className="inline-flex items-center gap-1 text-degraded text-xs">
          <RotateCw aria-hidden className="size-3.5" />
          {words.restart}
        </span>
      )}
      <span title={title} className="text-ink-faint text-xs">
        {origin.origin[flag.source]}
      </span>
      {flag.source === "stored" && (
        <ResetButton label={label} disabled={unset.isPending} onReset={() => unset.mutate({ id: flag.name })} />
      )}
      <FlagControl
        id={id}
        flag={flag}
        disabled={set.isPending || unset.isPending}
        onSet={(value) => set.mutate({ id: flag.name, value })}
      />
    </FieldRow>
  );
}

type FlagControlProps = { id: string; flag: FeatureFlag; disabled: boolean; onSet(value: JsonValue): void };

function FlagControl({ id, flag, disabled, onSet }: FlagControlProps) {
  const messages = useMessages();
  const control = { id, disabled, "aria-describedby": `${id}-help` };
  if (typeof flag.value === "boolean") {
    return <Switch {...control} checked={flag.value} onCheckedChange={onSet} />;
  }
  return (
    <Select
      {...control}
      className="w-64"
      value={String(flag.value)}
      options={flag.choices.map((value) => ({ value, label: written(value, messages) }))}
      onChange={onSet}
    />
  );
}

/** A flag the dictionary does not know speaks for itself. */
function told(flag: FeatureFlag, words: Messages["flags"]): { label: string; help: string } {
  const names: Readonly<Record<string, { label: string; help: string }>> = words.names;
  return names[flag.name] ?? { label: flag.name, help: flag.help };
}

function written(value: JsonValue, messages: Messages): string {
  if (typeof value === "boolean") return value ? messages.settings.on : messages.settings.off;
  const choices: Readonly<Record<string, string>> = messages.flags.choices;
  const word = String(value);
  return choices[word] ?? word;
}

function matches(flag: FeatureFlag, filter: string, words: Messages["flags"]): boolean {
  const { label, help } = told(flag, words);
  const text = `${flag.name} ${flag.setting} ${label} ${help} ${words.groups[flag.group]}`.toLowerCase();
  return text.includes(filter.trim().toLowerCase());
}
