import { useBlocker } from "@tanstack/react-router";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useMessages } from "@/i18n";

/** Asks before what was changed and not saved is left behind. */
export function LeaveGuard({ blocks }: { blocks(): boolean }) {
  const words = useMessages().combos;
  const blocker = useBlocker({ shouldBlockFn: blocks, enableBeforeUnload: blocks, withResolver: true });
  return (
    <Dialog
      open={blocker.status === "blocked"}
      onOpenChange={(open) => {
        if (!open) blocker.reset?.();
      }}
      title={words.leaveTitle}
      description={words.leaveHelp}
      footer={
        <>
          <Button onClick={() => blocker.reset?.()}>{words.stay}</Button>
          <Button variant="danger" onClick={() => blocker.proceed?.()}>
            {words.leave}
          </Button>
        </>
      }
    />
  );
}
