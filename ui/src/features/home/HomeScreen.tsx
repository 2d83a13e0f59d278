/** Is everything fine? One sentence, the address to point agents at, and the last requests. */
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { CopyButton } from "@/components/CopyButton";
import { FirstStep, useIsNew } from "@/components/FirstStep";
import { RequestStrip } from "@/components/RequestStrip";
import { StateSign } from "@/components/StateSign";
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { usePreferences } from "@/host/preferences";
import { useLive, useRead } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { baseUrl } from "@/lib/addresses";
import { breakerNow } from "@/lib/breaker";
import { countStates, needingAttention, type State, type StateCounts } from "@/lib/connection-state";
import type { Format } from "@/lib/format";
import { useNow } from "@/lib/use-now";
import { SetupChecklist } from "./SetupChecklist";

const STRIP_LENGTH = 15;

export function HomeScreen() {
  const messages = useMessages();
  const { preferences } = usePreferences();
  const navigate = useNavigate();
  const requests = useRead("requests_list", { limit: STRIP_LENGTH });

  return (
    <div className="mx-auto w-full max-w-[1168px] px-6 pt-8 pb-16">
      <Sentence />
      <div className="mt-6 flex flex-wrap items-end justify-between gap-x-10 gap-y-5">
        <Address />
        <Figures />
      </div>
      {!preferences.onboarded && <SetupChecklist />}
      {/* That nobody answers is the sentence above. */}
      <section className="mt-10" aria-labelledby="last-requests" hidden={requests.error?.unreachable}>
        <div className="mb-1 flex items-baseline justify-between">
          <h2 id="last-requests" className="font-semibold text-md">
            {messages.home.lastRequests}
          </h2>
          {requests.data && requests.data.requests.length > 0 && (
            <Link to="/requests" className="text-accent-text hover:underline">
              {messages.home.allRequests}
            </Link>
          )}
        </div>
        {requests.isPending && <SkeletonRows rows={6} />}
        {requests.error && <ErrorState error={requests.error} onRetry={() => void requests.refetch()} />}
        {requests.data?.requests.length === 0 && <NoRequests />}
        {requests.data && requests.data.requests.length > 0 && (
          <RequestStrip
            requests={requests.data.requests}
            onOpen={({ id }) => void navigate({ to: "/requests/$requestId", params: { requestId: id } })}
          />
        )}
      </section>
    </div>
  );
}

/** What is missing before a request can come in. */
function NoRequests() {
  const words = useMessages().home;
  const help = useIsNew() ? words.startSetupHelp : words.noRequestsHelp;
  return <EmptyState title={words.noRequests} help={help} action={<FirstStep quiet />} />;
}

/** “4 connections ready, 1 cooling until 14:32”. */
function Sentence() {
  const messages = useMessages();
  const format = useFormat();
  const now = useNow();
  const client = useQueryClient();
  const connections = useRead("connections_list", {});
  const breakers = useRead("breakers_list", null);
  if (connections.isPending) {
    return (
      <h1 className="flex h-9 items-center">
        <Skeleton className="h-6 w-96" />
        <span className="sr-only">{messages.common.loading}</span>
      </h1>
    );
  }
  const counts = countStates(connections.data?.connections ?? [], now);
  const stopped = (breakers.data?.breakers ?? []).filter(
    (breaker) => breakerNow(breaker, breakers.dataUpdatedAt, now) === "OPEN",
  ).length;
  const { state, text } = connections.error
    ? { state: "blocked" as const, text: messages.home.unreachable }
    : sentence(counts, stopped, messages, format);
  if (connections.error?.unreachable) return <Unreachable onRetry={() => void client.refetchQueries()} />;
  return (
    // The link follows the last word; under a sentence of two lines it begins where the sentence does.
    <div className="relative flex flex-wrap items-baseline gap-x-4 gap-y-1 pl-7">
      <h1 className="text-balance font-semibold text-xl tracking-tight">
        <StateSign state={state} className="absolute top-2.75 left-0 size-4" />
        {text}
      </h1>
      {stopped > 0 ? (
        <Why to="/monitoring/health" />
      ) : (
        needingAttention(counts) + counts.cooling + counts.degraded > 0 && <Why to="/monitoring/cooldowns" />
      )}
    </div>
  );
}

function Unreachable({ onRetry }: { onRetry(): void }) {
  const messages = useMessages();
  return (
    <div role="alert" className="pl-7">
      <h1 className="relative font-semibold text-xl tracking-tight">
        <StateSign state="blocked" className="absolute top-2.75 -left-7 size-4" />
        {messages.home.unreachable}
      </h1>
      <p className="mt-1 text-ink-soft">{messages.errors.unreachableHelp}</p>
      <Button className="mt-3" onClick={onRetry}>
        {messages.common.retry}
      </Button>
    </div>
  );
}

/** From the sentence to the screen that names whom it is about. */
function Why({ to }: { to: "/monitoring/health" | "/monitoring/cooldowns" }) {
  return (
    <Link to={to} className="inline-flex items-center gap-1 text-accent-text hover:underline">
      {useMessages().home.seeWhy}
      <ArrowRight aria-hidden className="size-3.5" />
    </Link>
  );
}

function sentence(
  counts: StateCounts,
  stopped: number,
  messages: Messages,
  format: Format,
): { state: State; text: string } {
  const words = messages.home;
  const attention = needingAttention(counts);
  const total = counts.ready + counts.degraded + counts.cooling + attention + counts.off;
  if (total === 0) return { state: "terminal", text: words.noConnection };
  const parts = [counts.ready > 0 ? words.ready(counts.ready) : words.noneReady];
  if (counts.degraded > 0) parts.push(words.failing(counts.degraded));
  if (counts.cooling > 0) {
    parts.push(
      counts.nextBack === null
        ? words.cooling(counts.cooling)
        : words.coolingUntil(counts.cooling, format.clock(counts.nextBack)),
    );
  }
  if (attention > 0) parts.push(words.attention(attention));
  if (stopped > 0) parts.push(words.stopped(stopped));
  const state = worst(counts);
  return { state: state === "ready" && stopped > 0 ? "degraded" : state, text: parts.join(", ") };
}

function worst(counts: StateCounts): State {
  if (counts.ready === 0) return counts.cooling > 0 ? "cooling" : "blocked";
  return counts.degraded + needingAttention(counts) > 0 ? "degraded" : "ready";
}

function Address() {
  const messages = useMessages();
  const words = messages.home;
  const app = useRead("app_get", null);
  const connections = useRead("connections_list", {});
  // Without a connection the address leads nowhere yet: something else is to be done first.
  const leads = connections.data?.connections.length !== 0;
  const address = app.data ? baseUrl(app.data.url, "chat") : "";
  return (
    <div className="min-w-0">
      <div className="text-ink-faint text-xs">{words.address}</div>
      <div className="mt-1 flex items-center gap-2">
        <code
          className="flex h-8 min-w-60 select-text items-center rounded-md border bg-sunken px-3 font-mono"
          title={words.addressHelp}
        >
          {app.data ? address : app.isPending ? <Skeleton className="h-3 w-44" /> : "–"}
        </code>
        {address && <CopyButton wide primary={leads} text={address} label={messages.common.copyOf(address)} />}
        <Link to="/settings/agents" className="ml-1 inline-flex items-center gap-1 text-accent-text hover:underline">
          {words.otherAddresses}
          <ArrowRight aria-hidden className="size-3.5" />
        </Link>
      </div>
    </div>
  );
}

/** What flows right now, four times a second. */
function Figures() {
  const messages = useMessages();
  const format = useFormat();
  const live = useLive();
  const figures: [string, number | undefined][] = [
    [messages.home.inFlight, live?.inFlight],
    [messages.home.perMinute, live?.requestsPerMinute],
    [messages.home.tokensPerSecond, live?.tokensPerSecond],
  ];
  return (
    <dl className="flex gap-8">
      {figures.map(([label, value]) => (
        <div key={label}>
          <dt className="text-ink-faint text-xs">{label}</dt>
          <dd className="mt-0.5 font-medium text-lg">{value === undefined ? "–" : format.number(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
