import { useMessages } from "@/i18n";
import type { State, StateCounts } from "@/lib/connection-state";
import { StatusBadge } from "./StatusBadge";

/** How many connections are in which state, worst last: “● 3 ready  ◔ 1 cooling down”. Absent states are left out. */
export function StateSummary({ counts }: { counts: StateCounts }) {
  const messages = useMessages();
  const words = messages.home;
  const parts: { state: State; n: number; word: string }[] = [
    { state: "ready", n: counts.ready, word: `${counts.ready} ${messages.state.ready.toLowerCase()}` },
    { state: "degraded", n: counts.degraded, word: words.failing(counts.degraded) },
    { state: "cooling", n: counts.cooling, word: words.cooling(counts.cooling) },
    { state: "blocked", n: counts.attention, word: words.attention(counts.attention) },
    { state: "terminal", n: counts.off, word: words.off(counts.off) },
  ];
  return (
    <span className="inline-flex min-w-0 flex-wrap gap-x-4">
      {parts
        .filter(({ n }) => n > 0)
        .map(({ state, word }) => (
          <StatusBadge key={state} state={state} word={word} />
        ))}
    </span>
  );
}
