import type { BatchTest } from "@/bindings";
import { notify, useReportError } from "@/components/notify";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";

/** “Test all”: says how many passed, and changes no state. */
export function useConnectionsTest(selection: BatchTest) {
  const words = useMessages().providers;
  const report = useReportError();
  const test = useChange("connections_test");
  return {
    running: test.isPending,
    /** Those whose last test was in vain. */
    failed: new Set(test.data?.results.filter(({ ok }) => !ok).map(({ connectionId }) => connectionId)),
    run: () =>
      test.mutate(selection, {
        onSuccess: ({ results }) => {
          const passed = results.filter((result) => result.ok).length;
          const say = passed === results.length ? notify.done : notify.failed;
          say(words.tested(passed, results.length));
        },
        onError: report,
      }),
  };
}
