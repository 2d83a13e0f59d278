/** A key's text, the one time it can be seen. Only a deliberate press closes it. */
import { useNavigate } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { CopyButton } from "@/components/CopyButton";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useMessages } from "@/i18n";

type SecretDialogProps = {
  title: string;
  /** Nothing while there is none to show. */
  secret: string | null;
  onDone(): void;
};

export function SecretDialog({ title, secret, onDone }: SecretDialogProps) {
  const messages = useMessages();
  const words = messages.keys;
  const navigate = useNavigate();
  return (
    <Dialog
      open={secret !== null}
      onOpenChange={() => undefined}
      title={title}
      footer={
        <>
          <Button variant="ghost" onClick={() => void navigate({ to: "/settings/agents" })}>
            {words.setUpAgent}
          </Button>
          <Button onClick={onDone}>{words.stored}</Button>
        </>
      }
    >
      <p className="flex items-start gap-2 text-degraded">
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
        {words.shownOnce}
      </p>
      <div className="mt-3 flex items-start gap-2">
        <code className="min-w-0 flex-1 select-all break-all rounded-md bg-sunken px-2.5 py-1.5 font-mono inset-ring inset-ring-line">
          {secret}
        </code>
        <CopyButton wide primary text={secret ?? ""} label={messages.common.copyOf(words.theKey)} />
      </div>
    </Dialog>
  );
}
