/** The six signs. Each differs in form, not only in colour: filled, half, emptying ring, bar, struck, pulse. */

import { cn } from "@/lib/cn";
import type { State } from "@/lib/connection-state";

export const stateText: Record<State, string> = {
  ready: "text-ready",
  degraded: "text-degraded",
  cooling: "text-cooling",
  blocked: "text-blocked",
  terminal: "text-terminal",
  probing: "text-probing",
};

type StateSignProps = {
  state: State;
  /** How much of a cooldown is left, 1 to 0; a full ring when unknown. */
  left?: number | undefined;
  className?: string;
};

const RADIUS = 4.25;
const CIRCUMFERENCE = 2 * Math.PI * RADIUS;

export function StateSign({ state, left = 1, className }: StateSignProps) {
  return (
    <svg
      aria-hidden
      viewBox="0 0 12 12"
      className={cn("size-3 shrink-0", stateText[state], state === "probing" && "animate-pulse-state", className)}
    >
      {shape(state, left)}
    </svg>
  );
}

function shape(state: State, left: number) {
  switch (state) {
    case "ready":
      return <circle cx="6" cy="6" r="4" fill="currentColor" />;
    case "degraded":
      return (
        <>
          <circle cx="6" cy="6" r={RADIUS} fill="none" stroke="currentColor" strokeWidth="1.5" />
          <path d="M6 1.75a4.25 4.25 0 0 0 0 8.5z" fill="currentColor" />
        </>
      );
    case "cooling":
      return (
        <>
          <circle cx="6" cy="6" r={RADIUS} fill="none" stroke="currentColor" strokeOpacity="0.25" strokeWidth="2" />
          <circle
            cx="6"
            cy="6"
            r={RADIUS}
            fill="none"
            stroke="currentColor"
            strokeWidth="2"
            strokeDasharray={`${CIRCUMFERENCE * left} ${CIRCUMFERENCE}`}
            transform="rotate(-90 6 6)"
          />
        </>
      );
    case "blocked":
      return <rect x="1.5" y="4.25" width="9" height="3.5" rx="1" fill="currentColor" />;
    case "terminal":
      return (
        <>
          <circle cx="6" cy="6" r={RADIUS} fill="none" stroke="currentColor" strokeWidth="1.5" />
          <path d="M3 9 9 3" stroke="currentColor" strokeWidth="1.5" />
        </>
      );
    case "probing":
      return (
        <>
          <circle cx="6" cy="6" r="2" fill="currentColor" />
          <circle cx="6" cy="6" r={RADIUS} fill="none" stroke="currentColor" strokeOpacity="0.5" strokeWidth="1.25" />
        </>
      );
  }
}
