/** Asks before what cannot be undone. */
import { useMessages } from "@/i18n";
import { Button } from "./ui/button";
import { Dialog } from "./ui/dialog";

type ConfirmProps = {
  open: boolean;
  title: string;
  help: string;
  /** What is done, as the button says it. */
  action: string;
  isPending: boolean;
  onCancel(): void;
  onConfirm(): void;
};

export function Confirm({ open, title, help, action, isPending, onCancel, onConfirm }: ConfirmProps) {
  const messages = useMessages();
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onCancel();
      }}
      title={title}
      description={help}
      footer={
        <>
          <Button onClick={onCancel}>{messages.common.cancel}</Button>
          <Button variant="danger" onClick={onConfirm} disabled={isPending}>
            {action}
          </Button>
        </>
      }
    />
  );
}
