/** One provider's breaker: what it says now, and what led there. */
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import type { BreakerTransition } from "@/bindings";
import { BreakerBadge, BreakerRibbon } from "@/components/BreakerBadge";
import { Fact, Facts } from "@/components/Facts";
import { SidePanel } from "@/components/SidePanel";
import { StateSign } from "@/components/StateSign";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { Button, buttonClass } from "@/components/ui/button";
import { useBreakerReset } from "@/components/use-breaker-reset";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { breakerNow, breakerSign, reasonKey } from "@/lib/breaker";
import { useNow } from "@/lib/use-now";
import { NextTry } from "./NextTry";

const route = getRouteApi("/monitoring/health/$providerId");
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

export function BreakerPanel() {
  const messages = useMessages();
  const words = messages.health.panel;
  const format = useFormat();
  const now = useNow();
  const navigate = useNavigate();
  const { providerId } = route.useParams();
  const read = useRead("breakers_list", null);
  const reset = useBreakerReset();
  const told = read.data?.breakers.find(({ provider }) => provider === providerId);
  const breaker = told && { ...told, state: breakerNow(told, read.dataUpdatedAt, now) };

  return (
    <SidePanel
      title={breaker?.providerName ?? providerId}
      subtitle={breaker ? <BreakerBadge state={breaker.state} /> : words.subtitle}
      onClose={() => void navigate({ to: "/monitoring/health" })}
      footer={
        breaker && (
          <>
            <Button
              disabled={reset.busy || (breaker.state === "CLOSED" && breaker.failureCount === 0)}
              onClick={() => reset.one(breaker.provider, breaker.providerName)}
            >
              <RotateCcw aria-hidden />
              {messages.resilience.reset}
            </Button>
            <Link to="/providers/$providerId" params={{ providerId }} className={`${buttonClass()} ml-auto`}>
              {words.openProvider}
            </Link>
          </>
        )
      }
    >
      {read.isPending && <SkeletonRows rows={6} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && !breaker && <EmptyState title={words.notFound} help={words.notFoundHelp} />}
      {breaker && (
        <div className="flex flex-col gap-6">
          <div>
            <BreakerRibbon
              provider={breaker.providerName}
              state={breaker.state}
              transitions={breaker.transitions}
              from={now - HOUR_MS}
              to={now}
            />
            <div className="mt-1 flex justify-between text-ink-faint text-xs">
              {[60, 45, 30, 15].map((minutes) => (
                <span key={minutes}>{messages.health.ago(minutes)}</span>
              ))}
              <span>{messages.health.now}</span>
            </div>
          </div>
          <Facts>
            <Fact label={words.failures}>
              {messages.health.failures(format.number(breaker.failureCount), format.number(breaker.failureThreshold))}
            </Fact>
            <Fact label={words.threshold}>
              {messages.health.failuresHelp(breaker.degradationThreshold, breaker.failureThreshold)}{" "}
              <Link to="/settings/resilience" className="text-accent-text underline">
                {words.change}
              </Link>
            </Fact>
            <Fact label={words.next}>
              <NextTry breaker={breaker} readAt={read.dataUpdatedAt} />
            </Fact>
            <Fact label={words.cycles}>{format.number(breaker.openCycles)}</Fact>
            <Fact label={words.lastFailure}>
              {breaker.lastFailure ? <RelativeTime at={breaker.lastFailure} /> : messages.common.never}
            </Fact>
          </Facts>
          <section>
            <h3 className="border-b pb-1.5 font-medium text-ink-soft text-xs">{words.history}</h3>
            {breaker.transitions.length === 0 && <p className="py-3 text-ink-faint">{words.none}</p>}
            <ol>
              {breaker.transitions.toReversed().map((change) => (
                <Change key={`${change.timestamp} ${change.to}`} change={change} />
              ))}
            </ol>
          </section>
        </div>
      )}
    </SidePanel>
  );
}

function Change({ change }: { change: BreakerTransition }) {
  const messages = useMessages();
  const format = useFormat();
  const now = useNow();
  const words = messages.health.panel;
  const key = reasonKey(change.reason);
  const at = Date.parse(change.timestamp);
  return (
    <li className="grid grid-cols-[12px_1fr_auto] items-baseline gap-x-2.5 border-b py-2 last:border-b-0">
      <StateSign state={breakerSign[change.to]} className="translate-y-px" />
      <span className="min-w-0">
        {messages.resilience.breakerStates[change.to]}
        <span className="block break-words text-ink-faint text-xs" title={change.reason}>
          {key in words.reasons ? words.reasons[key as keyof typeof words.reasons] : change.reason}
          {change.failureCount > 0 && ` · ${words.failuresThen(change.failureCount)}`}
        </span>
      </span>
      <time dateTime={change.timestamp} title={format.full(at)} className="text-ink-soft text-xs">
        {now - at < DAY_MS ? format.clockSeconds(at) : format.day(at)}
      </time>
    </li>
  );
}
