import type { ComboMetric } from "@/bindings";
import { useRead } from "@/host/queries";

/** How a combo did in the last 24 hours; `undefined` until that is known. */
export function useComboRecord(): (comboId: string) => ComboMetric | undefined {
  const read = useRead("combos_metrics", {});
  return (comboId) => read.data?.combos.find(({ id }) => id === comboId);
}
