/** Things to tick, in a box of their own; of many, those that are looked for. */
import { useState } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { Choice } from "./Choice";
import { Input } from "./ui/input";

/** Fewer are found by looking. */
const FILTER_ABOVE = 12;

type ChoiceListProps = {
  known: readonly { readonly id: string; readonly name: string; readonly about?: string }[];
  chosen: readonly string[];
  /** What was deleted since and is still chosen: it can be taken out. */
  gone: readonly string[];
  /** What stands there when there is nothing to tick. */
  none: string | null;
  filterLabel: string;
  /** Their names are ids that agents ask for. */
  mono?: boolean;
  onToggle(id: string, on: boolean): void;
};

export function ChoiceList({ known, chosen, gone, none, filterLabel, mono = false, onToggle }: ChoiceListProps) {
  const messages = useMessages();
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const found = known.filter(({ name, about = "" }) => `${name} ${about}`.toLowerCase().includes(wanted));
  return (
    <div className="overflow-hidden rounded-md border border-line">
      {known.length > FILTER_ABOVE && (
        <div className="border-b p-1.5">
          <Input
            type="search"
            aria-label={filterLabel}
            placeholder={filterLabel}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
            onKeyDown={(event) => {
              // The form around it is neither sent by looking for something, nor left by having found it.
              if (event.key === "Enter") event.preventDefault();
              if (event.key !== "Escape" || !filter) return;
              event.preventDefault();
              setFilter("");
            }}
            className="w-full"
          />
        </div>
      )}
      <div className="max-h-60 overflow-y-auto py-1">
        {known.length === 0 && none && <p className="px-3 py-1.5 text-ink-faint">{none}</p>}
        {known.length > 0 && found.length === 0 && (
          <p className="px-3 py-1.5 text-ink-faint">{messages.common.noMatch(filter)}</p>
        )}
        {found.map(({ id, name, about }) => (
          <Choice key={id} checked={chosen.includes(id)} onToggle={(on) => onToggle(id, on)}>
            <span className={cn("truncate", mono && "font-mono")} title={name}>
              {name}
            </span>
            {about && <span className="ml-auto shrink-0 text-ink-faint">{about}</span>}
          </Choice>
        ))}
        {gone.map((lost) => (
          <Choice key={lost} checked onToggle={(on) => onToggle(lost, on)}>
            <code className="truncate font-mono text-ink-faint line-through">{lost}</code>
          </Choice>
        ))}
      </div>
    </div>
  );
}
