/** What somebody else wrote, who may not have known when to stop: a few lines of it, and the rest when it is wanted. */
import { useId, useState } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";

/** Shorter texts fit into the lines that are shown. */
const LONG = 280;

type LongTextProps = { text: string; className?: string };

export function LongText({ text, className }: LongTextProps) {
  const words = useMessages().common;
  const id = useId();
  const [open, setOpen] = useState(false);
  if (text.length <= LONG) return <span className={cn("select-text break-words", className)}>{text}</span>;
  return (
    <>
      <span id={id} className={cn("select-text break-words", open ? "block" : "line-clamp-4", className)}>
        {text}
      </span>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="rounded-sm font-medium text-accent-text text-xs hover:underline"
      >
        {open ? words.showLess : words.showAll}
      </button>
    </>
  );
}
