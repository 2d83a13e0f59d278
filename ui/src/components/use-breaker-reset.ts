import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { notify, useReportError } from "./notify";

/** Closes one provider's breaker and says so. */
export function useBreakerReset() {
  const words = useMessages().health;
  const report = useReportError();
  const { mutate, isPending } = useChange("breaker_reset");
  return {
    busy: isPending,
    one: (provider: string, name: string) =>
      mutate({ id: provider }, { onSuccess: () => notify.done(words.wasReset(name)), onError: report }),
  };
}
