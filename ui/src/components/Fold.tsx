/** A heading that opens what most people leave alone. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { cn } from "@/lib/cn";

type FoldProps = {
  title: string;
  /** Beside the title: what is in it. */
  note?: string | undefined;
  help?: string;
  /** Open whatever the person does: something in it wants to be seen. */
  forced?: boolean;
  startsOpen?: boolean;
  children: ReactNode;
};

export function Fold({ title, note, help, forced = false, startsOpen = false, children }: FoldProps) {
  const id = useId();
  const [open, setOpen] = useState(startsOpen);
  const isOpen = open || forced;
  return (
    <section className="mt-8">
      <h2 data-name={title} className="border-b pb-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={() => setOpen(!isOpen)}
          className="-mx-1.5 flex items-center gap-1.5 rounded-md px-1.5 py-0.5 font-semibold text-md hover:bg-hover"
        >
          <ChevronRight
            aria-hidden
            className={cn("size-4 text-ink-faint transition-transform duration-100", isOpen && "rotate-90")}
          />
          {title}
          {note && <span className="font-normal text-ink-faint text-xs">{note}</span>}
        </button>
      </h2>
      <div id={id} hidden={!isOpen}>
        {help && <p className="pt-2 text-ink-faint text-xs">{help}</p>}
        {isOpen && children}
      </div>
    </section>
  );
}
