import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useMessages } from "@/i18n";
import type { InUse } from "./use-combo-actions";

/** Why a combo was not deleted: who leads to it. */
export function InUseDialog({ inUse, onClose }: { inUse: InUse | null; onClose(): void }) {
  const messages = useMessages();
  const words = messages.combos;
  return (
    <Dialog
      open={inUse !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={words.inUseTitle(inUse?.name ?? "")}
      description={words.inUseHelp}
      footer={<Button onClick={onClose}>{messages.common.close}</Button>}
    >
      <p className="select-text break-words rounded-md bg-sunken px-3 py-2">{inUse?.message}</p>
    </Dialog>
  );
}
