/** Is every provider well? Their breakers with the last hour, and the facts of the gateway itself. */
import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { BreakerDetail } from "@/bindings";
import { BreakerBadge, BreakerRibbon } from "@/components/BreakerBadge";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { Section } from "@/components/Field";
import { FirstStep } from "@/components/FirstStep";
import { notify, useReportError } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useBreakerReset } from "@/components/use-breaker-reset";
import { useChange, useRead } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { breakerNow } from "@/lib/breaker";
import type { Format } from "@/lib/format";
import { useNow } from "@/lib/use-now";
import { InFlight } from "./InFlight";
import { LastHour } from "./LastHour";
import { NextTry } from "./NextTry";
import { SystemFacts } from "./SystemFacts";

const HOUR_MS = 60 * 60_000;
const idOf = ({ provider }: BreakerDetail) => provider;

export function HealthScreen() {
  const messages = useMessages();
  const words = messages.health;
  const format = useFormat();
  const navigate = useNavigate();
  const { providerId } = useParams({ strict: false });
  const breakers = useRead("breakers_list", null);
  const live = useLiveBreakers(breakers.data?.breakers, breakers.dataUpdatedAt);
  const columns = useColumns(breakers.dataUpdatedAt);

  return (
    <>
      <Screen
        title={words.title}
        help={live.length > 0 && sentence(live, messages, format)}
        actions={live.some(({ state }) => state !== "CLOSED") && <ResetAll />}
      >
        <Section title={words.providers} help={words.providersHelp}>
          {breakers.isPending && <SkeletonRows rows={4} />}
          {breakers.error && <ErrorState error={breakers.error} onRetry={() => void breakers.refetch()} />}
          {breakers.data && live.length === 0 && (
            <EmptyState title={words.emptyTitle} help={words.emptyHelp} action={<FirstStep quiet />} />
          )}
          {live.length > 0 && (
            <DataTable
              label={words.providers}
              rows={live}
              columns={columns}
              rowKey={idOf}
              openKey={providerId}
              onOpen={({ provider }) =>
                void navigate({ to: "/monitoring/health/$providerId", params: { providerId: provider } })
              }
            />
          )}
        </Section>
        {!breakers.error?.unreachable && (
          <>
            <Section title={messages.flow.lastHour}>
              <LastHour />
            </Section>
            <Section title={messages.flow.title}>
              <InFlight />
            </Section>
            <Section title={words.system}>
              <SystemFacts />
            </Section>
          </>
        )}
      </Screen>
      <Outlet />
    </>
  );
}

/** With time applied: what is wrong stands first. */
function useLiveBreakers(breakers: readonly BreakerDetail[] | undefined, readAt: number) {
  const now = useNow();
  const rank = { OPEN: 0, HALF_OPEN: 1, DEGRADED: 2, CLOSED: 3 };
  return (breakers ?? [])
    .map((breaker) => ({ ...breaker, state: breakerNow(breaker, readAt, now) }))
    .sort((a, b) => rank[a.state] - rank[b.state] || a.providerName.localeCompare(b.providerName));
}

function sentence(breakers: readonly BreakerDetail[], { health: words }: Messages, format: Format): string {
  const named = (...states: BreakerDetail["state"][]) =>
    breakers.filter(({ state }) => states.includes(state)).map(({ providerName }) => providerName);
  const stopped = named("OPEN");
  const retried = named("HALF_OPEN");
  const shaky = named("DEGRADED");
  const parts = [
    stopped.length > 0 && words.stopped(format.list(stopped), stopped.length),
    retried.length > 0 && words.retried(format.list(retried), retried.length),
    shaky.length > 0 && words.shaky(format.list(shaky), shaky.length),
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(" ") : words.well(breakers.length);
}

function useColumns(readAt: number): Column<BreakerDetail>[] {
  const messages = useMessages();
  const words = messages.health;
  const format = useFormat();
  const now = useNow();
  const reset = useBreakerReset();
  return [
    {
      id: "provider",
      header: words.columns.provider,
      width: "minmax(128px, 1fr)",
      cell: ({ providerName }) => (
        <span className="font-medium" title={providerName}>
          {providerName}
        </span>
      ),
    },
    {
      id: "state",
      header: words.columns.state,
      width: "minmax(96px, 0.7fr)",
      cell: ({ state }) => <BreakerBadge state={state} />,
    },
    {
      id: "failures",
      header: words.columns.failures,
      width: "72px",
      align: "end",
      cell: ({ failureCount, failureThreshold, degradationThreshold, lastFailure }) => (
        <span
          className={failureCount === 0 ? "text-ink-faint" : ""}
          title={[
            words.failuresHelp(degradationThreshold, failureThreshold),
            lastFailure && words.lastFailure(format.full(Date.parse(lastFailure))),
          ]
            .filter(Boolean)
            .join("\n")}
        >
          {words.failures(format.number(failureCount), format.number(failureThreshold))}
        </span>
      ),
    },
    {
      id: "history",
      header: words.columns.history,
      head: (
        <span className="flex justify-between" title={words.columns.history}>
          <span>{words.ago(60)}</span>
          <span>{words.now}</span>
        </span>
      ),
      width: "minmax(96px, 2fr)",
      cell: ({ providerName, state, transitions }) => (
        <BreakerRibbon provider={providerName} state={state} transitions={transitions} from={now - HOUR_MS} to={now} />
      ),
    },
    {
      id: "next",
      header: words.columns.next,
      width: "152px",
      cell: (breaker) => <NextTry breaker={breaker} readAt={readAt} />,
    },
    {
      id: "reset",
      header: "",
      width: "64px",
      acts: true,
      cell: ({ provider, providerName, state, failureCount }, current) =>
        (state !== "CLOSED" || failureCount > 0) && (
          <Button
            size="sm"
            variant="ghost"
            tabIndex={current ? 0 : -1}
            aria-label={words.resetOne(providerName)}
            disabled={reset.busy}
            onClick={() => reset.one(provider, providerName)}
          >
            {words.reset}
          </Button>
        ),
    },
  ];
}

function ResetAll() {
  const words = useMessages().health;
  const report = useReportError();
  const [asking, setAsking] = useState(false);
  const reset = useChange("resilience_reset");
  return (
    <>
      <Button onClick={() => setAsking(true)}>{words.resetAll}</Button>
      <Confirm
        open={asking}
        title={words.resetAllTitle}
        help={words.resetAllHelp}
        action={words.resetAll}
        isPending={reset.isPending}
        onCancel={() => setAsking(false)}
        onConfirm={() =>
          reset.mutate(
            {},
            {
              onSuccess: ({ resetCount }) => notify.done(words.allReset(resetCount)),
              onError: report,
              onSettled: () => setAsking(false),
            },
          )
        }
      />
    </>
  );
}
