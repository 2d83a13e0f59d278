/** What a replay says about a change: each figure before and after, and whether that is for the better. */
import type { ReplayFigures } from "@/bindings";

export const measures = ["failuresSeenByClient", "waits", "waitMs", "dispatches", "switches", "cost"] as const;
export type Measure = (typeof measures)[number];
export type Verdict = "better" | "worse" | "same";

export type Comparison = {
  readonly measure: Measure;
  readonly before: number;
  readonly after: number;
  readonly difference: number;
  /** Of what it was, where that was something. */
  readonly ratio: number | null;
  /** Of every figure less is better. */
  readonly verdict: Verdict;
};

/** What is not known on both sides is not compared. */
export function compare(before: ReplayFigures, after: ReplayFigures): Comparison[] {
  return measures.flatMap((measure) => {
    const [was, is] = [before[measure], after[measure]];
    return was === null || is === null ? [] : [comparison(measure, was, is)];
  });
}

function comparison(measure: Measure, before: number, after: number): Comparison {
  const difference = after - before;
  return {
    measure,
    before,
    after,
    difference,
    ratio: before === 0 ? null : difference / before,
    verdict: difference === 0 ? "same" : difference < 0 ? "better" : "worse",
  };
}
