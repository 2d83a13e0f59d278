import type { BreakerState, BreakerTransition } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { breakerSign, ribbon } from "@/lib/breaker";
import { cn } from "@/lib/cn";
import { StatusBadge } from "./StatusBadge";

/** State of a provider's breaker, in words; the technical name is in the tooltip. */
export function BreakerBadge({ state }: { state: BreakerState }) {
  const words = useMessages().resilience;
  return <StatusBadge state={breakerSign[state]} word={words.breakerStates[state]} title={words.breakerHelp[state]} />;
}

/** Height and colour both say the state: a thin line is well, a thick one is not. */
const look: Record<BreakerState, string> = {
  CLOSED: "h-0.5 bg-ready",
  DEGRADED: "h-1.5 bg-degraded",
  OPEN: "h-3 bg-blocked",
  HALF_OPEN: "h-3 bg-probing",
};

type RibbonProps = {
  provider: string;
  state: BreakerState;
  transitions: readonly BreakerTransition[];
  from: number;
  to: number;
};

/** The states of a stretch of time, oldest at the left. */
export function BreakerRibbon({ provider, state, transitions, from, to }: RibbonProps) {
  const messages = useMessages();
  const format = useFormat();
  const words = messages.health;
  const spans = ribbon(transitions, state, from, to);
  const told = spans.map((span) =>
    words.ribbonPart(messages.resilience.breakerStates[span.state], format.clock(span.from), format.clock(span.to)),
  );
  return (
    <span role="img" aria-label={words.ribbon(provider, told.join("; "))} className="flex h-4 w-full items-center">
      {spans.map((span, index) => (
        <span
          key={span.from}
          title={told[index]}
          className="flex h-full min-w-px items-center"
          style={{ width: `${((span.to - span.from) / (to - from)) * 100}%` }}
        >
          <span className={cn("w-full rounded-[1px]", look[span.state])} />
        </span>
      ))}
    </span>
  );
}
