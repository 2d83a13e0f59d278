/** One of many, found by typing: chosen from what is known, or typed, because not everything is. */
import { Command } from "cmdk";
import { ChevronsUpDown } from "lucide-react";
import { type ReactNode, useState } from "react";
import { cn } from "@/lib/cn";
import { groupBy } from "@/lib/group-by";
import type { FieldControl } from "./Field";
import { controlClass } from "./ui/input";
import { Popover, PopoverContent, PopoverTrigger } from "./ui/popover";

export type PickerItem = {
  readonly value: string;
  /** What is searched; the value itself where absent. */
  readonly text?: string;
  /** Items of one group stand together, under its name. */
  readonly group?: string;
  readonly shown: ReactNode;
};

type SearchPickerProps = {
  /** What is chosen, as it is shown; `null` when nothing is. */
  chosen: ReactNode;
  title?: string;
  items: readonly PickerItem[];
  onChange(value: string): void;
  words: { pick: string; search: string; empty: string; use(typed: string): string };
  /** What choosing nothing is called; absent where something is needed. */
  none?: string | undefined;
  label?: string | undefined;
  control?: FieldControl | undefined;
  className?: string | undefined;
};

const SHOWN = 200;

export function SearchPicker(props: SearchPickerProps) {
  const { chosen, title, items, onChange, words, none, label, control, className } = props;
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const typed = search.trim();
  const wanted = typed.toLowerCase();
  const matches = items.filter(({ value, text = value }) => text.toLowerCase().includes(wanted)).slice(0, SHOWN);

  const choose = (value: string) => {
    onChange(value);
    setSearch("");
    setOpen(false);
  };

  return (
    <Popover open={open} onOpenChange={setOpen}>
      <PopoverTrigger asChild>
        <button
          type="button"
          role="combobox"
          aria-expanded={open}
          aria-label={label}
          {...control}
          className={cn(controlClass, "flex w-full items-center justify-between gap-2 text-left", className)}
        >
          <span className={cn("min-w-0 truncate", chosen === null && "text-ink-faint")} title={title}>
            {chosen ?? none ?? words.pick}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
        </button>
      </PopoverTrigger>
      <PopoverContent
        aria-label={words.pick}
        className="w-[max(var(--radix-popover-trigger-width),320px)] overflow-hidden"
      >
        <Command shouldFilter={false} label={words.pick}>
          <Command.Input
            value={search}
            onValueChange={setSearch}
            placeholder={words.search}
            className="h-9 w-full border-b bg-transparent px-3 outline-none"
          />
          <Command.List className="max-h-64 overflow-y-auto p-1">
            {none && !typed && (
              <Command.Item value={none} onSelect={() => choose("")} className={cn(itemClass, "text-ink-soft")}>
                {none}
              </Command.Item>
            )}
            {matches.length === 0 && !typed && <p className="px-2 py-3 text-ink-faint">{words.empty}</p>}
            {[...groupBy(matches, ({ group }) => group)].map(([group, members]) => (
              <Command.Group key={group ?? ""} heading={group} className={groupClass}>
                {members.map(({ value, shown }) => (
                  <Command.Item key={value} value={value} onSelect={() => choose(value)} className={itemClass}>
                    {shown}
                  </Command.Item>
                ))}
              </Command.Group>
            ))}
            {typed && !items.some(({ value }) => value === typed) && (
              <Command.Item value={typed} onSelect={() => choose(typed)} className={itemClass}>
                {words.use(typed)}
              </Command.Item>
            )}
          </Command.List>
        </Command>
      </PopoverContent>
    </Popover>
  );
}

const itemClass = "flex h-8 items-center gap-2 rounded-sm px-2 data-[selected=true]:bg-hover";
const groupClass =
  "[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-faint [&_[cmdk-group-heading]]:text-xs";
