/** How a combo chooses: nineteen ways in four families, each in one sentence. */
import { Check } from "lucide-react";
import type { Strategy } from "@/bindings";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { type StrategyFamily, strategyFamilies } from "@/lib/strategies";
import type { FieldControl } from "./Field";
import { Picker, PickerGroup, PickerItem, PickerNote } from "./Picker";

type StrategyPickerProps = {
  value: Strategy | null;
  onChange(strategy: Strategy | null): void;
  /** What choosing none is called; absent where one is needed. */
  none?: string;
  control?: FieldControl;
  disabled?: boolean;
};

const families = Object.keys(strategyFamilies) as StrategyFamily[];
const look = { content: "w-[min(460px,calc(100vw-32px))]", list: "max-h-[min(420px,60vh)]" };
const itemClass = "items-start py-1.5";

export function StrategyPicker({ value, onChange, none, control, disabled = false }: StrategyPickerProps) {
  const words = useMessages().combos;
  return (
    <Picker
      chosen={value ? <span className="font-medium">{words.strategies[value].name}</span> : none}
      isEmpty={value === null}
      title={value ? words.strategyTechnical(value) : undefined}
      label={words.strategy}
      placeholder={words.strategySearch}
      control={control}
      disabled={disabled}
      look={look}
      start={value ?? undefined}
    >
      {(typed, close) => {
        const wanted = typed.toLowerCase();
        const fits = (strategy: Strategy) => {
          const { name, help } = words.strategies[strategy];
          return `${name} ${help} ${strategy}`.toLowerCase().includes(wanted);
        };
        const found = families
          .map((family) => ({ family, members: strategyFamilies[family].filter(fits) }))
          .filter(({ members }) => members.length > 0);
        const choose = (strategy: Strategy | null) => () => {
          onChange(strategy);
          close();
        };
        return (
          <>
            {found.length === 0 && <PickerNote>{words.strategyNone}</PickerNote>}
            {none && !typed && (
              <PickerItem value="none" onChoose={choose(null)} className={itemClass}>
                <Tick chosen={value === null} />
                <span className="text-ink-soft">{none}</span>
              </PickerItem>
            )}
            {found.map(({ family, members }) => (
              <PickerGroup key={family} heading={words.families[family]}>
                {members.map((strategy) => (
                  <PickerItem
                    key={strategy}
                    value={strategy}
                    onChoose={choose(strategy)}
                    title={words.strategyTechnical(strategy)}
                    className={itemClass}
                  >
                    <Tick chosen={value === strategy} />
                    <span className="min-w-0">
                      <span className="font-medium">{words.strategies[strategy].name}</span>
                      <span className="block text-ink-soft text-xs">{words.strategies[strategy].help}</span>
                    </span>
                  </PickerItem>
                ))}
              </PickerGroup>
            ))}
          </>
        );
      }}
    </Picker>
  );
}

function Tick({ chosen }: { chosen: boolean }) {
  return <Check aria-hidden className={cn("mt-0.5 size-4 shrink-0 text-accent-text", !chosen && "invisible")} />;
}
