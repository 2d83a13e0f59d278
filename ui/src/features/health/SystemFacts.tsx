import { Fact, Facts } from "@/components/Facts";
import { ErrorState, SkeletonRows } from "@/components/States";
import { StatusBadge } from "@/components/StatusBadge";
import { Elapsed } from "@/components/Time";
import { useLive, useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";

/** The gateway itself: what it is, how long it runs, what it does right now. */
export function SystemFacts() {
  const words = useMessages().health;
  const format = useFormat();
  const health = useRead("health_get", null);
  const live = useLive();
  if (health.isPending) return <SkeletonRows rows={4} height={28} />;
  if (health.error) return <ErrorState error={health.error} onRetry={() => void health.refetch()} />;
  const { status, system, uptime, timestamp, activeConnections, connectionHealth, rateLimitStatus, store } =
    health.data;
  const queued = live?.queued ?? Object.values(rateLimitStatus).reduce((sum, limit) => sum + limit.queued, 0);
  const connections = [
    words.connectionsOf(connectionHealth.ready, connectionHealth.total),
    connectionHealth.failing > 0 && words.failing(connectionHealth.failing),
    connectionHealth.switchedOff > 0 && words.off(connectionHealth.switchedOff),
    connectionHealth.withoutCredential > 0 && words.withoutKey(connectionHealth.withoutCredential),
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
        <Fact label={words.inFlight}>{words.requests(live?.inFlight ?? activeConnections, queued)}</Fact>
        <Fact label={words.connections}>{connections.filter(Boolean).join(" · ")}</Fact>
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
