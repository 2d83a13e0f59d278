import { Check } from "lucide-react";
import { Button } from "@/components/ui/button";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";

export type Step = "provider" | "key" | "agent" | "request";

type ProgressProps = { steps: readonly Step[]; current: number; onLeave(): void };

/** Where one is, what comes, and the way out. */
export function Progress({ steps, current, onLeave }: ProgressProps) {
  const messages = useMessages();
  return (
    <aside className="flex h-full w-[260px] shrink-0 flex-col border-r bg-rail px-6 pt-14 pb-6 max-wide:w-[200px] max-wide:px-4">
      <h1 className="font-semibold text-lg">{messages.setup.title}</h1>
      <p className="mt-1 text-ink-soft">{messages.setup.intro}</p>
      <ol className="mt-8 flex flex-col gap-1" aria-label={messages.setup.stepOf(current + 1, steps.length)}>
        {steps.map((name, index) => (
          <li
            key={name}
            aria-current={index === current ? "step" : undefined}
            className={cn(
              "flex h-8 items-center gap-2.5",
              index === current ? "font-medium text-ink" : "text-ink-faint",
            )}
          >
            <span
              className={cn(
                "inline-flex size-5 shrink-0 items-center justify-center rounded-full text-xs",
                index < current && "bg-ready-soft text-ready",
                index === current && "bg-accent text-accent-ink",
                index > current && "inset-ring inset-ring-line-strong",
              )}
            >
              {index < current ? <Check aria-label={messages.common.done} className="size-3" /> : index + 1}
            </span>
            {messages.setup.steps[name]}
          </li>
        ))}
      </ol>
      <Button variant="ghost" className="-ml-3 mt-auto self-start" onClick={onLeave}>
        {messages.setup.leave}
      </Button>
    </aside>
  );
}
