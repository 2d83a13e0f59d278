import { getRouteApi, Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { FlaskConical, Pencil, Plus } from "lucide-react";
import { useState } from "react";
import type { CatalogProvider } from "@/bindings";
import { BackLink } from "@/components/BackLink";
import { BreakerBadge } from "@/components/BreakerBadge";
import { CopyButton } from "@/components/CopyButton";
import { FilterInput } from "@/components/FilterInput";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { breakerNow } from "@/lib/breaker";
import { useNow } from "@/lib/use-now";
import { AccountTurns } from "./AccountTurns";
import { ConnectionTable } from "./ConnectionTable";
import { InCombos } from "./InCombos";
import { ProviderMenu } from "./ProviderMenu";
import { useConnectionsTest } from "./use-connections-test";

const route = getRouteApi("/providers/$providerId");

export function ProviderScreen() {
  const messages = useMessages();
  const words = messages.providers;
  const { providerId } = route.useParams();
  const { connectionId } = useParams({ strict: false });
  const navigate = useNavigate();
  const catalog = useRead("catalog_providers", null);
  const connections = useRead("connections_list", { provider: providerId });
  const [filter, setFilter] = useState("");
  const test = useConnectionsTest({ provider: providerId });
  const provider = catalog.data?.providers.find((candidate) => candidate.id === providerId);
  const list = connections.data?.connections ?? [];
  const error = catalog.error ?? connections.error;
  const add = () => void navigate({ to: "/providers/$providerId/add", params: { providerId } });

  const addButton = (
    <Button variant="primary" onClick={add} disabled={!provider}>
      <Plus aria-hidden />
      {words.add}
    </Button>
  );

  return (
    <>
      <Screen
        before={<BackLink to="/providers">{words.back}</BackLink>}
        title={provider?.name ?? providerId}
        help={provider && <Facts provider={provider} />}
        actions={
          list.length > 0 && (
            <>
              {list.length > 5 && (
                <FilterInput label={messages.connections.filter} value={filter} onChange={setFilter} className="w-52" />
              )}
              <Button onClick={test.run} disabled={test.running}>
                <FlaskConical aria-hidden />
                {test.running ? words.testingAll : words.testAll}
              </Button>
              <ProviderMenu providerId={providerId} connections={list} />
              {addButton}
            </>
          )
        }
      >
        {error && (
          <ErrorState error={error} onRetry={() => void Promise.all([catalog.refetch(), connections.refetch()])} />
        )}
        {!error && connections.isPending && <SkeletonRows rows={4} />}
        {catalog.data && !provider && list.length === 0 && (
          <EmptyState title={words.unknown} help={words.unknownHelp} />
        )}
        {provider && connections.data && list.length === 0 && (
          <EmptyState
            title={messages.connections.emptyTitle(provider.name)}
            help={messages.connections.emptyHelp}
            action={addButton}
          />
        )}
        {list.length > 0 && (
          <ConnectionTable
            providerId={providerId}
            connections={list}
            filter={filter}
            openId={connectionId}
            testing={test.running}
            failed={test.failed}
          />
        )}
        {list.length > 1 && <AccountTurns providerId={providerId} connections={list} />}
        {provider && list.length > 0 && <InCombos providerId={providerId} name={provider.name} />}
      </Screen>
      <Outlet />
    </>
  );
}

/** Class, format, address and prefix in one line. */
function Facts({ provider }: { provider: CatalogProvider }) {
  const messages = useMessages();
  const now = useNow();
  const breakers = useRead("breakers_list", null);
  const told = breakers.data?.breakers.find((candidate) => candidate.provider === provider.id);
  const state = told && breakerNow(told, breakers.dataUpdatedAt, now);
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-x-4 gap-y-0.5">
      {state && state !== "CLOSED" && (
        <Link to="/monitoring/health/$providerId" params={{ providerId: provider.id }} className="hover:underline">
          <BreakerBadge state={state} />
        </Link>
      )}
      <span>{messages.classes[provider.custom ? "custom" : provider.class].name}</span>
      <span>{(provider.dialects ?? [provider.dialect]).map((dialect) => messages.dialects[dialect]).join(", ")}</span>
      {provider.baseUrl && (
        <span className="min-w-0 select-text truncate font-mono" title={provider.baseUrl}>
          {provider.baseUrl}
        </span>
      )}
      <span className="inline-flex items-center" title={messages.providers.prefixHelp(provider.alias)}>
        <code className="font-mono">{provider.alias}/</code>
        <CopyButton
          text={`${provider.alias}/`}
          label={messages.common.copyOf(`${provider.alias}/`)}
          className="-my-1 size-6"
        />
      </span>
      {provider.custom && (
        <Link
          to="/providers/$providerId/endpoint"
          params={{ providerId: provider.id }}
          className="inline-flex items-center gap-1 text-accent-text hover:underline"
        >
          <Pencil aria-hidden className="size-3" />
          {messages.providers.endpoint}
        </Link>
      )}
    </div>
  );
}
