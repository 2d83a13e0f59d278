/** What a place shows when it is empty, unreadable, or not read yet. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { errorWords } from "@/lib/error-words";
import { Button } from "./ui/button";

/** Says what this place is for, and holds the action that fills it. */
export function EmptyState({ title, help, action }: { title: string; help: string; action?: ReactNode }) {
  return (
    <div className="flex max-w-[520px] flex-col items-start gap-1 py-10">
      <h2 className="font-semibold text-md">{title}</h2>
      <p className="text-ink-soft">{help}</p>
      {action && <div className="mt-4 flex gap-2">{action}</div>}
    </div>
  );
}

/** An address led to something that is no longer there; what is, is one press away. */
export function Gone({ title, back, onBack }: { title: string; back: string; onBack(): void }) {
  return (
    <EmptyState
      title={title}
      help={useMessages().common.deletedElsewhere}
      action={<Button onClick={onBack}>{back}</Button>}
    />
  );
}

/** What happened, why, and the button that helps. */
export function ErrorState({ error, onRetry }: { error: HostError; onRetry?: () => void }) {
  const messages = useMessages();
  const { title, help, detail } = errorWords(error, messages);
  return (
    <div role="alert" className="flex max-w-[560px] items-start gap-3 py-10">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-blocked" />
      <div className="flex min-w-0 flex-col items-start gap-1">
        <h2 className="font-semibold text-md">{title}</h2>
        <p className="select-text break-words text-ink-soft">{help}</p>
        {detail && <p className="mt-1 select-text break-words font-mono text-ink-faint text-xs">{detail}</p>}
        {onRetry && (
          <Button className="mt-3" onClick={onRetry}>
            {messages.common.retry}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Under a form: why it was not saved. */
export function ErrorLine({ error }: { error: HostError }) {
  const messages = useMessages();
  const { title, help, detail } = errorWords(error, messages);
  return (
    <div role="alert" className="select-text break-words text-blocked">
      {title} <span className="text-ink-soft">{help}</span>
      {detail && <p className="mt-0.5 font-mono text-ink-faint text-xs">{detail}</p>}
    </div>
  );
}

/** A grey stand-in of the true size. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cn("block animate-skeleton rounded-sm bg-hover", className)} />;
}

export function SkeletonRows({ rows, height = 40 }: { rows: number; height?: number }) {
  const messages = useMessages();
  return (
    <div role="status" aria-label={messages.common.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move
          key={index}
          className="flex items-center gap-4 border-b"
          style={{ height }}
        >
          <Skeleton className="h-3 w-40" />
          <Skeleton className="h-3 w-24" />
          <Skeleton className="ml-auto h-3 w-16" />
        </div>
      ))}
    </div>
  );
}
