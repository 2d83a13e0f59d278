/** What a replay says about a change: each figure before and after, and whether that is for the better. */
import type { ReplayFigures } from "@/host/combo-contract";

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

export function compare(before: ReplayFigures, after: ReplayFigures): Comparison[] {
  return measures.map((measure) => {
    const difference = after[measure] - before[measure];
    return {
      measure,
      before: before[measure],
      after: after[measure],
      difference,
      ratio: before[measure] === 0 ? null : difference / before[measure],
      verdict: difference === 0 ? "same" : difference < 0 ? "better" : "worse",
    };
  });
}
