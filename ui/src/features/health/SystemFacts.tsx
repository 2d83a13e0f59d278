import { Fact, Facts } from "@/components/Facts";
import { ErrorState, SkeletonRows } from "@/components/States";
import { StatusBadge } from "@/components/StatusBadge";
import { Elapsed } from "@/components/Time";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { countStates, needingAttention } from "@/lib/connection-state";
import { useNow } from "@/lib/use-now";

/** The gateway itself: what it is, how long it runs, what it does right now. */
export function SystemFacts() {
  const messages = useMessages();
  const words = messages.health;
  const format = useFormat();
  const health = useRead("health_get", null);
  const list = useRead("connections_list", {});
  const now = useNow();
  if (health.isPending) return <SkeletonRows rows={4} height={28} />;
  if (health.error) return <ErrorState error={health.error} onRetry={() => void health.refetch()} />;
  const { status, system, uptime, timestamp, store } = health.data;
  const connections = list.data?.connections ?? [];
  const counts = countStates(connections, now);
  const attention = needingAttention(counts);
  const told = [
    connections.length > 0 ? words.connectionsOf(counts.ready, connections.length) : messages.providers.counts.none,
    counts.degraded > 0 && words.failing(counts.degraded),
    counts.cooling > 0 && messages.home.cooling(counts.cooling),
    attention > 0 && messages.home.attention(attention),
    counts.off > 0 && words.off(counts.off),
  ];
  return (
    <div className="pt-3">
      <Facts>
        <Fact label={words.gateway}>
          <StatusBadge
            state={status === "healthy" ? "ready" : "degraded"}
            word={status === "healthy" ? words.gatewayWell : words.gatewayDegraded}
          />
        </Fact>
        <Fact label={words.uptime}>
          <Elapsed since={new Date(Date.parse(timestamp) - uptime * 1_000).toISOString()} />
        </Fact>
        <Fact label={words.connections}>{told.filter(Boolean).join(" · ")}</Fact>
        <Fact label={words.log}>
          {store.dropped > 0 ? (
            <StatusBadge state="degraded" word={words.logDropped(store.dropped)} />
          ) : (
            words.logComplete
          )}
        </Fact>
        {system.memoryUsage.rss !== null && (
          <Fact label={words.memory}>{format.megabytes(system.memoryUsage.rss)}</Fact>
        )}
        <Fact label={words.version}>{system.version}</Fact>
        <Fact label={words.process}>{words.processOf(system.pid, system.platform)}</Fact>
      </Facts>
    </div>
  );
}
