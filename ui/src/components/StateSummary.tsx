import { useFormat, useMessages } from "@/i18n";
import type { State, StateCounts } from "@/lib/connection-state";
import { StatusBadge } from "./StatusBadge";

/** How many connections are in which state: “● 3 ready  ◔ 1 cooling”. Absent states are left out. */
export function StateSummary({ counts }: { counts: StateCounts }) {
  const words = useMessages().providers.counts;
  const format = useFormat();
  const all: { state: State; n: number; word(n: number): string }[] = [
    { state: "ready", n: counts.ready, word: words.ready },
    { state: "degraded", n: counts.degraded, word: words.failing },
    { state: "cooling", n: counts.cooling, word: words.cooling },
    { state: "blocked", n: counts.blocked, word: words.noKey },
    { state: "terminal", n: counts.terminal, word: words.terminal },
    { state: "terminal", n: counts.off, word: words.off },
  ];
  const present = all.filter(({ n }) => n > 0);
  if (present.length === 0) return <span className="text-ink-faint">{words.none}</span>;
  return (
    <span
      title={format.list(present.map(({ n, word }) => word(n)))}
      className="inline-flex max-w-full gap-x-3.5 overflow-hidden align-bottom"
    >
      {present.map(({ state, n, word }) => (
        <StatusBadge key={word(n)} state={state} word={word(n)} className="shrink-0" />
      ))}
    </span>
  );
}
