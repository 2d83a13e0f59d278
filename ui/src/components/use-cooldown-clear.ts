import type { CooldownSelection, CooldownsCleared } from "@/bindings";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { notify, useReportError } from "./notify";

/** Brings connections back before their time and says what came of it. What needs a person is never touched. */
export function useCooldownClear() {
  const words = useMessages().cooldowns;
  const report = useReportError();
  const { mutateAsync, isPending } = useChange("cooldowns_clear");
  const tell = ({ cleared, lockoutsCleared, skippedTerminal }: CooldownsCleared) => {
    const done = words.cleared(cleared, lockoutsCleared);
    notify.done(skippedTerminal > 0 ? `${done}. ${words.skipped(skippedTerminal)}.` : done);
  };
  return {
    busy: isPending,
    clear: (choice: CooldownSelection): Promise<void> => mutateAsync(choice).then(tell, report),
  };
}
