import type { Combo } from "@/bindings";
import { useReportError } from "@/components/notify";
import { useChange } from "@/host/queries";

/** Switches combos on and off from their list; shown as wished for until the gateway has answered. */
export function useComboSwitch() {
  const report = useReportError();
  const update = useChange("combo_update");
  return {
    shown: ({ id, isActive }: Combo) =>
      update.isPending && update.variables.id === id ? (update.variables.isActive ?? isActive) : isActive,
    set: ({ id }: Combo, isActive: boolean) => update.mutate({ id, isActive }, { onError: report }),
  };
}
