/** What a provider's breaker says: its state with time applied, and its last hour as a ribbon. */
import type { BreakerState, BreakerTransition } from "@/bindings";
import { fromLocal } from "./clock";
import type { State } from "./connection-state";

export const breakerSign: Readonly<Record<BreakerState, State>> = {
  CLOSED: "ready",
  DEGRADED: "degraded",
  OPEN: "blocked",
  HALF_OPEN: "probing",
};

type Told = { state: BreakerState; retryAfterMs: number };

/** When an open breaker lets its next request through; `readAt` is when the answer arrived here. */
export function opensAt({ state, retryAfterMs }: Told, readAt: number): number | null {
  return state === "OPEN" ? fromLocal(readAt) + retryAfterMs : null;
}

/** There is no timer in the gateway either: an open breaker whose wait is over is half-open for whoever looks. */
export function breakerNow(told: Told, readAt: number, now: number): BreakerState {
  const until = opensAt(told, readAt);
  return until !== null && until <= now ? "HALF_OPEN" : told.state;
}

export type Span = { readonly state: BreakerState; readonly from: number; readonly to: number };

/** The states between two instants, oldest first, without gaps. Before the oldest change it was what that began with. */
export function ribbon(
  transitions: readonly BreakerTransition[],
  state: BreakerState,
  from: number,
  to: number,
): Span[] {
  const spans: Span[] = [];
  const push = (of: BreakerState, start: number, end: number) => {
    const begin = Math.max(start, from);
    const until = Math.min(end, to);
    if (until <= begin) return;
    const last = spans.at(-1);
    if (last?.state === of) spans[spans.length - 1] = { ...last, to: until };
    else spans.push({ state: of, from: begin, to: until });
  };
  let since = Number.NEGATIVE_INFINITY;
  for (const change of transitions) {
    const at = Date.parse(change.timestamp);
    push(change.from, since, at);
    since = at;
  }
  push(transitions.at(-1)?.to ?? state, since, to);
  return spans;
}

/** `probe-failed (cycle 2)` and `kind:rate_limit` begin with what the dictionary knows. */
export function reasonKey(reason: string): string {
  return reason.split(/[ (:]/, 1)[0] ?? reason;
}
