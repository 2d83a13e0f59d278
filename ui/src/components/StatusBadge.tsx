import type { Connection } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { connectionState, type State } from "@/lib/connection-state";
import { useNow } from "@/lib/use-now";
import { StateSign, stateText } from "./StateSign";

type StatusBadgeProps = { state: State; word: string; left?: number; title?: string; className?: string };

/** Sign and word of a state. The same on every screen. */
export function StatusBadge({ state, word, left, title, className }: StatusBadgeProps) {
  return (
    <span
      title={title}
      className={cn("inline-flex min-w-0 max-w-full items-center gap-1.5 align-bottom", stateText[state], className)}
    >
      <StateSign state={state} left={left} />
      <span className="truncate">{word}</span>
    </span>
  );
}

/** A cooldown of unknown length is drawn as if it were this long. */
export const RING_FULL_MS = 10 * 60_000;
const COUNTDOWN_BELOW_MS = 60 * 60_000;

type ConnectionBadgeProps = {
  connection: Connection;
  testing?: boolean;
  /** The person has just tested it in vain. Routing goes by what requests met, and may still choose it. */
  testFailed?: boolean;
};

/** State of a connection, in words a person would use; the technical name is in the tooltip. */
export function ConnectionBadge({ connection, testing = false, testFailed = false }: ConnectionBadgeProps) {
  const messages = useMessages();
  const format = useFormat();
  const now = useNow();
  if (testing) {
    return <StatusBadge state="probing" word={messages.state.probing} title={messages.state.technical.probing} />;
  }
  const { state, word, until } = connectionState(connection, now);
  if (testFailed && (state === "ready" || state === "degraded")) {
    return (
      <StatusBadge state="degraded" word={messages.state.testFailed} title={messages.state.technical.testFailed} />
    );
  }
  const technical = word === "off" ? messages.state.technical.off : messages.state.technical[state];
  if (until !== null) {
    const remaining = until - now;
    const text =
      remaining < COUNTDOWN_BELOW_MS
        ? messages.state.coolingUntil(format.remaining(remaining))
        : messages.state.coolingUntilClock(format.clock(until));
    return (
      <StatusBadge
        state={state}
        word={text}
        left={Math.min(1, remaining / RING_FULL_MS)}
        title={`${technical}, ${format.full(until)}`}
      />
    );
  }
  const title = connection.lastError && state !== "ready" ? `${technical}\n${connection.lastError}` : technical;
  return <StatusBadge state={state} word={messages.state[word]} title={title} />;
}
