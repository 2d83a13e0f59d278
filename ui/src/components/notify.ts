import { toast } from "sonner";
import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { errorWords } from "@/lib/error-words";

/** Short notices at the foot of the window. What was done can be undone from there. */
export const notify = {
  done(text: string): void {
    toast.success(text);
  },
  /** `detail` is what somebody else said of it, in their own words. */
  failed(text: string, detail: string | null = null): void {
    toast.error(text, { duration: 8_000, description: detail });
  },
  undoable(text: string, undo: { label: string; act(): void }): void {
    toast(text, { duration: 8_000, action: { label: undo.label, onClick: undo.act } });
  },
};

/** Says that something was refused, where no form is there to say it. */
export function useReportError(): (error: HostError) => void {
  const messages = useMessages();
  return (error) => {
    const { title, help, detail } = errorWords(error, messages);
    notify.failed(`${title} ${help}`, detail);
  };
}
