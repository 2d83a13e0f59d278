/** Names and values of one thing, in two columns. */
import type { ReactNode } from "react";
import { useMessages } from "@/i18n";
import { CopyButton } from "./CopyButton";

export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(96px,max-content)_1fr] items-baseline gap-x-4 gap-y-1.5">{children}</dl>;
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-faint">{label}</dt>
      <dd className="min-w-0 select-text break-words">{children}</dd>
    </>
  );
}

/** A value in monospace with its copy button: an id, a model, a path. */
export function CopyFact({ label, value, what = label }: { label: string; value: string; what?: string }) {
  const messages = useMessages();
  return (
    <Fact label={label}>
      <span className="flex min-w-0 items-center gap-1">
        <code className="min-w-0 truncate font-mono" title={value}>
          {value}
        </code>
        <CopyButton text={value} label={messages.common.copyOf(what)} className="-my-1 size-6" />
      </span>
    </Fact>
  );
}
