import { toast } from "sonner";

/** Short notices at the foot of the window. What was done can be undone from there. */
export const notify = {
  done(text: string): void {
    toast.success(text);
  },
  failed(text: string): void {
    toast.error(text, { duration: 8_000 });
  },
  undoable(text: string, undo: { label: string; act(): void }): void {
    toast(text, { duration: 8_000, action: { label: undo.label, onClick: undo.act } });
  },
};
