/** What every combo does that says nothing else: the settings that each can have, once for all. */
import { BackLink } from "@/components/BackLink";
import { ComboSettingGroups } from "@/components/ComboSettingGroups";
import { Screen } from "@/components/Screen";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useSharedComboSettings } from "@/components/use-shared-combo-settings";
import { useMessages } from "@/i18n";
import { changeForAll, chosenForAll, FOR_ALL } from "@/lib/combo-settings";

export function ComboDefaultsScreen() {
  const words = useMessages().combos;
  const { read, ...editing } = useSharedComboSettings({
    prefix: FOR_ALL,
    chosen: chosenForAll,
    change: (fields, next) => ({ comboDefaults: changeForAll(chosenForAll(fields), next) }),
  });
  return (
    <Screen
      before={<BackLink to="/combos">{words.back}</BackLink>}
      title={words.defaults.title}
      help={words.defaults.help}
    >
      {read.isPending && <SkeletonRows rows={8} height={56} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && <ComboSettingGroups level="all" {...editing} />}
    </Screen>
  );
}
