/** How a combo chooses: nineteen ways in four families, each in one sentence. */
import { Command } from "cmdk";
import { Check, ChevronsUpDown } from "lucide-react";
import { useState } from "react";
import type { Strategy } from "@/bindings";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { type StrategyFamily, strategyFamilies } from "@/lib/strategies";
import type { FieldControl } from "./Field";
import { controlClass } from "./ui/input";
import { Popover, PopoverContent, PopoverTrigger } from "./ui/popover";

type StrategyPickerProps = {
  value: Strategy | null;
  onChange(strategy: Strategy | null): void;
  /** What choosing none is called; absent where one is needed. */
  none?: string;
  control?: FieldControl;
  disabled?: boolean;
};

const families = Object.keys(strategyFamilies) as StrategyFamily[];

export function StrategyPicker({ value, onChange, none, control, disabled = false }: StrategyPickerProps) {
  const words = useMessages().combos;
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const fits = (strategy: Strategy) => {
    const { name, help } = words.strategies[strategy];
    return `${name} ${help} ${strategy}`.toLowerCase().includes(wanted);
  };
  const found = families
    .map((family) => ({ family, members: strategyFamilies[family].filter(fits) }))
    .filter(({ members }) => members.length > 0);

  const choose = (strategy: Strategy | null) => {
    onChange(strategy);
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
          disabled={disabled}
          title={value ? words.strategyTechnical(value) : undefined}
          {...control}
          className={cn(controlClass, "flex w-full items-center justify-between gap-2 text-left")}
        >
          <span className={cn("min-w-0 truncate", value ? "font-medium" : "text-ink-soft")}>
            {value ? words.strategies[value].name : none}
          </span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
        </button>
      </PopoverTrigger>
      <PopoverContent aria-label={words.strategy} className="w-[min(460px,calc(100vw-32px))] overflow-hidden">
        <Command shouldFilter={false} label={words.strategy} {...(value && { defaultValue: value })}>
          <Command.Input
            value={search}
            onValueChange={setSearch}
            placeholder={words.strategySearch}
            className="h-9 w-full border-b bg-transparent px-3 outline-none"
          />
          <Command.List className="max-h-[min(420px,60vh)] scroll-py-8 overflow-y-auto p-1 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-faint [&_[cmdk-group-heading]]:text-xs">
            {found.length === 0 && <p className="px-2 py-3 text-ink-faint">{words.strategyNone}</p>}
            {none && wanted === "" && (
              <Command.Item value="none" onSelect={() => choose(null)} className={itemClass}>
                <Tick chosen={value === null} />
                <span className="text-ink-soft">{none}</span>
              </Command.Item>
            )}
            {found.map(({ family, members }) => (
              <Command.Group key={family} heading={words.families[family]}>
                {members.map((strategy) => (
                  <Command.Item
                    key={strategy}
                    value={strategy}
                    onSelect={() => choose(strategy)}
                    title={words.strategyTechnical(strategy)}
                    className={itemClass}
                  >
                    <Tick chosen={value === strategy} />
                    <span className="min-w-0">
                      <span className="font-medium">{words.strategies[strategy].name}</span>
                      <span className="block text-ink-soft text-xs">{words.strategies[strategy].help}</span>
                    </span>
                  </Command.Item>
                ))}
              </Command.Group>
            ))}
          </Command.List>
        </Command>
      </PopoverContent>
    </Popover>
  );
}

function Tick({ chosen }: { chosen: boolean }) {
  return <Check aria-hidden className={cn("mt-0.5 size-4 shrink-0 text-accent-text", !chosen && "invisible")} />;
}

const itemClass = "flex items-start gap-2 rounded-sm px-2 py-1.5 data-[selected=true]:bg-hover";
