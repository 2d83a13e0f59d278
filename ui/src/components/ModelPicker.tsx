import { Command } from "cmdk";
import { ChevronsUpDown } from "lucide-react";
import { useState } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import type { FieldControl } from "./Field";
import { controlClass } from "./ui/input";
import { Popover, PopoverContent, PopoverTrigger } from "./ui/popover";

type ModelPickerProps = {
  value: string;
  /** Known names; anything else can be typed. */
  models: readonly string[];
  onChange(model: string): void;
  /** What choosing no model is called; absent where one is needed. */
  none?: string;
  label?: string;
  control?: FieldControl;
  className?: string;
};

const SHOWN = 200;

/** A model name: chosen from the known ones, or typed, because vendors add models faster than lists are refreshed. */
export function ModelPicker({ value, models, onChange, none, label, control, className }: ModelPickerProps) {
  const messages = useMessages();
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const matches = models.filter((model) => model.toLowerCase().includes(wanted)).slice(0, SHOWN);
  const typed = search.trim();

  const choose = (model: string) => {
    onChange(model);
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
          <span className={cn("min-w-0 truncate", value ? "font-mono" : "text-ink-faint")} title={value}>
            {value || (none ?? messages.models.pick)}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
        </button>
      </PopoverTrigger>
      <PopoverContent
        aria-label={messages.models.pick}
        className="w-[max(var(--radix-popover-trigger-width),320px)] overflow-hidden"
      >
        <Command shouldFilter={false} label={messages.models.pick}>
          <Command.Input
            value={search}
            onValueChange={setSearch}
            placeholder={messages.models.search}
            className="h-9 w-full border-b bg-transparent px-3 outline-none"
          />
          <Command.List className="max-h-64 overflow-y-auto p-1">
            {none && !typed && (
              <Command.Item value={none} onSelect={() => choose("")} className={cn(itemClass, "text-ink-soft")}>
                {none}
              </Command.Item>
            )}
            {matches.length === 0 && !typed && <p className="px-2 py-3 text-ink-faint">{messages.models.empty}</p>}
            {matches.map((model) => (
              <Command.Item key={model} value={model} onSelect={() => choose(model)} className={itemClass}>
                <span className="truncate font-mono">{model}</span>
              </Command.Item>
            ))}
            {typed && !models.includes(typed) && (
              <Command.Item value={typed} onSelect={() => choose(typed)} className={itemClass}>
                {messages.models.use(typed)}
              </Command.Item>
            )}
          </Command.List>
        </Command>
      </PopoverContent>
    </Popover>
  );
}

const itemClass = "flex h-8 items-center rounded-sm px-2 data-[selected=true]:bg-hover";
