/**
 * Where a step leads: a combo or a model out of those there are, or whatever one writes: a model that no list knows yet,
 * or a pattern with a star.
 */
import { Asterisk, Box, Combine } from "lucide-react";
import { type ReactNode, useState } from "react";
import { PickerGroup, PickerItem, PickerList, PickerNote } from "@/components/Picker";
import { Popover, PopoverContent, PopoverTrigger } from "@/components/ui/popover";
import { useNames } from "@/components/use-names";
import { useMessages } from "@/i18n";
import { readTarget, type Target } from "@/lib/combo-draft";

type TargetPickerProps = {
  /** The button that opens it. */
  trigger: ReactNode;
  /** The combo being edited, which leads nowhere by leading to itself. */
  self: string;
  onChoose(target: Target): void;
};

const SHOWN = 100;

export function TargetPicker({ trigger, self, onChoose }: TargetPickerProps) {
  const words = useMessages().combos;
  const names = useNames();
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const fits = (text: string) => text.toLowerCase().includes(wanted);
  const combos = names.combos.filter((name) => name !== self && fits(name));
  const models = names.models.filter(fits).slice(0, SHOWN);
  const typed = search.trim();
  const target = typed === self ? null : readTarget(typed, names);
  const isNew = target !== null && !names.models.includes(typed) && !names.combos.includes(typed);

  const choose = (text: string) => {
    const chosen = readTarget(text, names);
    if (!chosen) return;
    onChoose(chosen);
    setSearch("");
    setOpen(false);
  };

  return (
    <Popover open={open} onOpenChange={setOpen}>
      <PopoverTrigger asChild>{trigger}</PopoverTrigger>
      <PopoverContent aria-label={words.stepPick} className="w-[min(420px,calc(100vw-32px))] overflow-hidden">
        <PickerList
          label={words.stepPick}
          placeholder={words.stepSearch}
          search={search}
          onSearch={setSearch}
          className="max-h-72"
        >
          {isNew && (
            <PickerItem value={`typed ${typed}`} onChoose={() => choose(typed)}>
              <Sign kind={target.kind} />
              <span className="truncate">
                {target.kind === "provider-wildcard" ? words.stepPattern(typed) : words.stepTyped(typed)}
              </span>
            </PickerItem>
          )}
          {combos.length > 0 && (
            <PickerGroup heading={words.stepCombos}>
              {combos.map((name) => (
                <PickerItem key={name} value={`combo ${name}`} onChoose={() => choose(name)}>
                  <Sign kind="combo-ref" />
                  <span className="truncate font-mono">{name}</span>
                </PickerItem>
              ))}
            </PickerGroup>
          )}
          {models.length > 0 && (
            <PickerGroup heading={words.stepModels}>
              {models.map((model) => (
                <PickerItem key={model} value={`model ${model}`} onChoose={() => choose(model)}>
                  <Sign kind="model" />
                  <span className="truncate font-mono">{model}</span>
                </PickerItem>
              ))}
            </PickerGroup>
          )}
          {combos.length === 0 && models.length === 0 && !isNew && <PickerNote>{words.stepNone}</PickerNote>}
        </PickerList>
      </PopoverContent>
    </Popover>
  );
}

/** The sign of a kind of step; its word is in the tooltip. */
export function Sign({ kind }: { kind: Target["kind"] }) {
  const words = useMessages().combos;
  const Icon = kind === "model" ? Box : kind === "combo-ref" ? Combine : Asterisk;
  return (
    <span title={words.stepKinds[kind]} className="inline-flex shrink-0">
      <Icon aria-hidden className="size-4 text-ink-faint" />
      <span className="sr-only">{words.stepKinds[kind]}</span>
    </span>
  );
}
