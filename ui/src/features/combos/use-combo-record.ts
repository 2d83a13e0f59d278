import type { ComboMetric } from "@/bindings";
import { useRead } from "@/host/queries";

/** How a combo did in the last 24 hours; `undefined` until that is known. */
export function useComboRecord(): (comboId: string) => ComboMetric | undefined {
  const read = useRead("combos_metrics", {});
  return (comboId) => read.data?.combos.find(({ id }) => id === comboId);
}

/** The part of the finished requests that were answered, 0 to 1; `null` where none has finished. */
export function answeredPart({ successes, failures }: Pick<ComboMetric, "successes" | "failures">): number | null {
  const finished = successes + failures;
  return finished > 0 ? successes / finished : null;
}
