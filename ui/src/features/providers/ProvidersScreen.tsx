import { Outlet, useNavigate } from "@tanstack/react-router";
import { FlaskConical, Plus } from "lucide-react";
import { useMemo, useState } from "react";
import type { CatalogProvider, Connection, ProviderClass } from "@/bindings";
import { BreakerBadge } from "@/components/BreakerBadge";
import { type Column, DataTable } from "@/components/DataTable";
import { FilterInput } from "@/components/FilterInput";
import { ProviderMark } from "@/components/ProviderMark";
import { Screen } from "@/components/Screen";
import { StateSummary } from "@/components/StateSummary";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { breakerNow } from "@/lib/breaker";
import { countStates, type StateCounts } from "@/lib/connection-state";
import { groupBy } from "@/lib/group-by";
import { useNow } from "@/lib/use-now";
import { useConnectionsTest } from "./use-connections-test";

type Row = {
  readonly id: string;
  readonly name: string;
  readonly group: ProviderClass | "custom";
  readonly prefix: string;
  readonly total: number;
  readonly counts: StateCounts;
  readonly lastUsedAt: string | null;
};

const groupOrder: readonly Row["group"][] = ["apikey", "oauth", "local", "free", "custom"];

export function ProvidersScreen() {
  const messages = useMessages();
  const words = messages.providers;
  const navigate = useNavigate();
  const connections = useRead("connections_list", {});
  const catalog = useRead("catalog_providers", null);
  const [filter, setFilter] = useState("");
  const testAll = useConnectionsTest({ all: true });
  const now = useNow();

  const rows = useMemo(
    () => toRows(connections.data?.connections ?? [], catalog.data?.providers ?? [], now),
    [connections.data, catalog.data, now],
  );
  const shown = rows.filter((row) => [row.name, row.id, row.prefix].some((text) => includes(text, filter)));
  const add = () => void navigate({ to: "/providers/add" });
  const error = connections.error ?? catalog.error;
  const isEmpty = connections.data?.connections.length === 0 && rows.length === 0;

  const columns: Column<Row>[] = [
    {
      id: "provider",
      header: words.columns.provider,
      width: "minmax(180px, 2fr)",
      cell: (row) => (
        <span className="flex min-w-0 items-center gap-3">
          <ProviderMark name={row.name} />
          <span className="truncate font-medium" title={row.name}>
            {row.name}
          </span>
        </span>
      ),
    },
    {
      id: "prefix",
      header: words.columns.prefix,
      width: "minmax(110px, 1fr)",
      roomy: true,
      cell: (row) => (
        <code className="font-mono text-ink-soft" title={words.prefixHelp(row.prefix)}>
          {row.prefix}/
        </code>
      ),
    },
    {
      id: "state",
      header: words.columns.state,
      width: "minmax(150px, 3fr)",
      cell: (row) => (
        <span className="inline-flex max-w-full gap-x-3.5 overflow-hidden align-bottom">
          <Stopped provider={row.id} />
          <StateSummary counts={row.counts} />
        </span>
      ),
    },
    { id: "connections", header: words.columns.connections, width: "96px", align: "end", cell: (row) => row.total },
    {
      id: "lastUsed",
      header: words.columns.lastUsed,
      width: "112px",
      align: "end",
      cell: (row) =>
        row.lastUsedAt ? (
          <RelativeTime at={row.lastUsedAt} className="text-ink-soft" />
        ) : (
          <span className="text-ink-faint">{messages.common.never}</span>
        ),
    },
  ];

  return (
    <>
      <Screen
        title={words.title}
        actions={
          !isEmpty && (
            <>
              <FilterInput label={words.filter} value={filter} onChange={setFilter} />
              <Button onClick={testAll.run} disabled={testAll.running || rows.length === 0}>
                <FlaskConical aria-hidden />
                {testAll.running ? words.testingAll : words.testAll}
              </Button>
              <Button variant="primary" onClick={add}>
                <Plus aria-hidden />
                {words.add}
              </Button>
            </>
          )
        }
      >
        {error && (
          <ErrorState error={error} onRetry={() => void Promise.all([connections.refetch(), catalog.refetch()])} />
        )}
        {!error && (connections.isPending || catalog.isPending) && <SkeletonRows rows={6} />}
        {!error && isEmpty && (
          <EmptyState
            title={words.emptyTitle}
            help={words.emptyHelp}
            action={
              <Button variant="primary" onClick={add}>
                <Plus aria-hidden />
                {words.add}
              </Button>
            }
          />
        )}
        {!error && shown.length > 0 && (
          <DataTable
            label={words.title}
            rows={shown}
            columns={columns}
            rowKey={(row) => row.id}
            groupOf={(row) => messages.classes[row.group].name}
            onOpen={(row) => void navigate({ to: "/providers/$providerId", params: { providerId: row.id } })}
          />
        )}
        {rows.length > 0 && shown.length === 0 && (
          <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>
        )}
      </Screen>
      <Outlet />
    </>
  );
}

/** Whoever is stopped as a whole gets nothing, however ready its connections are. */
function Stopped({ provider }: { provider: string }) {
  const now = useNow();
  const read = useRead("breakers_list", null);
  const told = read.data?.breakers.find((breaker) => breaker.provider === provider);
  const state = told && breakerNow(told, read.dataUpdatedAt, now);
  return state === "OPEN" || state === "HALF_OPEN" ? <BreakerBadge state={state} /> : null;
}

/** Providers somebody connected, and custom endpoints even without a connection, by class and name. */
function toRows(connections: readonly Connection[], catalog: readonly CatalogProvider[], now: number): Row[] {
  const byProvider = groupBy(connections, (connection) => connection.provider);
  const known = new Map(catalog.map((provider) => [provider.id, provider]));
  const ids = new Set([...byProvider.keys(), ...catalog.filter((p) => p.custom).map((p) => p.id)]);
  return [...ids]
    .map((id): Row => {
      const own = byProvider.get(id) ?? [];
      const provider = known.get(id);
      return {
        id,
        name: provider?.name ?? id,
        group: provider?.custom ? "custom" : (provider?.class ?? "apikey"),
        prefix: provider?.alias ?? id,
        total: own.length,
        counts: countStates(own, now),
        lastUsedAt: own.reduce<string | null>((latest, { lastUsedAt }) => newer(latest, lastUsedAt), null),
      };
    })
    .sort((a, b) => groupOrder.indexOf(a.group) - groupOrder.indexOf(b.group) || a.name.localeCompare(b.name));
}

function newer(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a > b ? a : b;
}

function includes(text: string, filter: string): boolean {
  return text.toLowerCase().includes(filter.trim().toLowerCase());
}
