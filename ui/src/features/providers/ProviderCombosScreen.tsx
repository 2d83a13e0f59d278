/** What combos do whose models all come from this provider: the settings that every combo has, for them alone. */
import { getRouteApi } from "@tanstack/react-router";
import { BackLink } from "@/components/BackLink";
import { ComboSettingGroups } from "@/components/ComboSettingGroups";
import { Screen } from "@/components/Screen";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useProviderNames } from "@/components/use-provider-names";
import { useSharedComboSettings } from "@/components/use-shared-combo-settings";
import { useMessages } from "@/i18n";
import { chosenForProvider, FOR_PROVIDERS, withProvider } from "@/lib/combo-settings";

const route = getRouteApi("/providers/$providerId/combos");

export function ProviderCombosScreen() {
  const words = useMessages().combos.ofProvider;
  const { providerId } = route.useParams();
  const name = useProviderNames()(providerId);
  const { read, ...editing } = useSharedComboSettings({
    prefix: `${FOR_PROVIDERS}.${providerId}.`,
    chosen: (fields) => chosenForProvider(fields, providerId),
    change: (fields, next) => ({ [FOR_PROVIDERS]: withProvider(fields, providerId, next) }),
  });
  return (
    <Screen
      before={
        <BackLink to="/providers/$providerId" params={{ providerId }}>
          {name}
        </BackLink>
      }
      title={words.title(name)}
      help={words.help(name)}
    >
      {read.isPending && <SkeletonRows rows={8} height={56} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && <ComboSettingGroups level="provider" {...editing} />}
    </Screen>
  );
}
