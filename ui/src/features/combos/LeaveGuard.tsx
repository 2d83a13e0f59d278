import { useBlocker } from "@tanstack/react-router";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useMessages } from "@/i18n";

type LeaveGuardProps = {
  blocks(): boolean;
  /** Below this address nothing is left behind. */
  within: string | null;
};

/** Asks before what was changed and not saved is left behind. */
export function LeaveGuard({ blocks, within }: LeaveGuardProps) {
  const words = useMessages().combos;
  const blocker = useBlocker({
    shouldBlockFn: ({ next }) => blocks() && !(within !== null && `${next.pathname}/`.startsWith(`${within}/`)),
    enableBeforeUnload: blocks,
    withResolver: true,
  });
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
