/** What is left of every account: its windows with their resets, who said so and when. */
import { Link } from "@tanstack/react-router";
import { Plus, RefreshCw } from "lucide-react";
import { Section } from "@/components/Field";
import { useReportError } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Button, buttonClass } from "@/components/ui/button";
import { useProviderNames } from "@/components/use-provider-names";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { groupBy } from "@/lib/group-by";
import { voiceOf } from "@/lib/quota";
import { settingKey } from "@/lib/setting-key";
import { useNow } from "@/lib/use-now";
import { NamedAccounts } from "./NamedAccounts";
import { QuotaAccount } from "./QuotaAccount";
import { QuotaTabs } from "./QuotaTabs";

export function QuotaScreen() {
  const messages = useMessages();
  const words = messages.quota;
  const status = useRead("quota_list", {});
  const accounts = status.data?.connections ?? [];
  const now = useNow();
  const voices = groupBy(accounts, (account) => voiceOf(account, now));
  const unasked = voices.get("unasked");
  const silent = voices.get("silent");
  const names = useNames();
  const warnPercent = useWarnPercent();

  return (
    <Screen
      title={words.title}
      help={words.help}
      actions={accounts.length > 0 && <Refresh possible={accounts.some(({ canRefresh }) => canRefresh)} />}
    >
      <QuotaTabs />
      {status.isPending && <SkeletonRows rows={5} height={96} />}
      {status.error && <ErrorState error={status.error} onRetry={() => void status.refetch()} />}
      {status.data && accounts.length === 0 && (
        <EmptyState
          title={words.emptyTitle}
          help={words.emptyHelp}
          action={
            <Link to="/providers/add" className={buttonClass({ variant: "primary" })}>
              <Plus aria-hidden />
              {messages.providers.add}
            </Link>
          }
        />
      )}
      <div>
        {[...groupBy(voices.get("telling") ?? [], ({ provider }) => provider)].map(([provider, of]) => (
          <Section key={provider} title={names.provider(provider)}>
            <ul>
              {of.map((account) => (
                <QuotaAccount
                  key={account.connectionId}
                  account={account}
                  name={names.connection(account.connectionId)}
                  warnPercent={warnPercent}
                />
              ))}
            </ul>
          </Section>
        ))}
        {unasked && <NamedAccounts {...words.unasked} accounts={unasked} nameOf={names} />}
        {silent && <NamedAccounts {...words.silent} accounts={silent} nameOf={names} />}
      </div>
    </Screen>
  );
}

function Refresh({ possible }: { possible: boolean }) {
  const words = useMessages().quota;
  const report = useReportError();
  const refresh = useChange("quota_refresh");
  return (
    <Button
      disabled={!possible || refresh.isPending}
      title={possible ? words.refreshHelp : words.refreshNone}
      onClick={() => refresh.mutate({}, { onError: report })}
    >
      <RefreshCw aria-hidden />
      {refresh.isPending ? words.refreshing : words.refresh}
    </Button>
  );
}

/** Ids stand for what has no name, or not yet. */
function useNames() {
  const connections = useRead("connections_list", {});
  const ofConnections = new Map(connections.data?.connections.map(({ id, name }) => [id, name]));
  const provider = useProviderNames();
  return {
    connection: (id: string) => ofConnections.get(id) ?? id,
    provider,
  };
}

const USUAL_WARNING = 20;

/** From how much that is left an account runs low, in percent. */
function useWarnPercent(): number {
  const settings = useRead("settings_fields", null);
  const key = "quotaPreflight.warnThresholdPercent";
  const value = settings.data?.fields.find(({ path }) => settingKey(path) === key)?.value;
  return typeof value === "number" ? value : USUAL_WARNING;
}
