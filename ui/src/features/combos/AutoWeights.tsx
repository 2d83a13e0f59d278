/** What counts how much when everyone is scored: a ready-made balance, or one's own. */
import { useId } from "react";
import { Field } from "@/components/Field";
import { Select } from "@/components/ui/select";
import { useFormat, useMessages } from "@/i18n";
import {
  defaultWeights,
  type Factor,
  factors,
  normalised,
  readWeights,
  type WeightPack,
  weightPack,
  weightPacks,
} from "@/lib/auto-weights";
import { cn } from "@/lib/cn";
import type { ComboConfig } from "@/lib/combo-draft";
import { FOR_ALL, valueAt, withSetting } from "@/lib/combo-settings";

type AutoWeightsProps = {
  config: ComboConfig;
  onChange(config: ComboConfig): void;
  /** For all combos: a ready-made balance, no weights of one's own. */
  isForAll?: boolean;
};

type Choice = WeightPack | "default" | "own";
const packs = Object.keys(weightPacks) as WeightPack[];

export function AutoWeights({ config, onChange, isForAll = false }: AutoWeightsProps) {
  const words = useMessages().combos.weights;
  const own = readWeights(valueAt(config, "autoConfig.weights"));
  const pack = weightPack(valueAt(config, "autoConfig.modePack"));
  const choice: Choice = own ? "own" : (pack ?? "default");
  const weights = own ?? (pack ? weightPacks[pack] : defaultWeights);

  const choices: Choice[] = ["default", ...packs];
  if (!isForAll || own) choices.push("own");

  const choose = (next: Choice) => {
    const cleared = withSetting(config, "autoConfig.weights", null);
    if (next === "own") onChange(withSetting(config, "autoConfig.weights", { ...weights }));
    else onChange(withSetting(cleared, "autoConfig.modePack", next === "default" ? null : next));
  };

  return (
    <div {...(isForAll && { "data-setting": `${FOR_ALL}autoConfig.modePack` })} className="border-b py-3">
      <Field label={words.pack} help={words.help} className="max-w-[420px]">
        {(control) => (
          <Select
            {...control}
            value={choice}
            options={choices.map((value) => ({ value, label: words.packs[value] }))}
            onChange={choose}
          />
        )}
      </Field>
      <WeightTable
        weights={weights}
        {...(own &&
          !isForAll && {
            onChange: (factor: Factor, weight: number) =>
              onChange(withSetting(config, "autoConfig.weights", { ...own, [factor]: weight })),
          })}
      />
    </div>
  );
}

type WeightTableProps = {
  weights: Readonly<Partial<Record<Factor, number>>>;
  /** Absent while a ready-made balance is only looked at. */
  onChange?(factor: Factor, weight: number): void;
};

function WeightTable({ weights, onChange }: WeightTableProps) {
  const messages = useMessages().combos;
  const format = useFormat();
  const id = useId();
  const shares = normalised(weights);
  const largest = Math.max(...factors.map((factor) => shares[factor]));
  const shown = onChange ? factors : factors.filter((factor) => shares[factor] > 0);
  return (
    <ul aria-label={messages.weights.title} className={cn("mt-3 grid gap-x-8 gap-y-1", !onChange && "grid-cols-2")}>
      {shown.map((factor) => (
        <li key={factor} className="flex min-h-7 items-center gap-3" title={factor}>
          <span id={`${id}-${factor}`} className="w-40 shrink-0 truncate text-ink-soft">
            {messages.factors[factor]}
          </span>
          {onChange ? (
            <input
              type="range"
              min={0}
              max={1}
              step={0.01}
              aria-label={messages.weights.factor(messages.factors[factor])}
              aria-valuetext={format.percent(shares[factor])}
              value={weights[factor] ?? 0}
              onChange={(event) => onChange(factor, Number(event.target.value))}
              className="min-w-0 flex-1 accent-accent"
            />
          ) : (
            <span aria-hidden className="h-1.5 min-w-0 flex-1 overflow-hidden rounded-full bg-hover">
              <span
                className="block h-full rounded-full bg-accent"
                style={{ width: `${(shares[factor] / largest) * 100}%` }}
              />
            </span>
          )}
          <span className="w-10 shrink-0 text-right">{format.percent(shares[factor])}</span>
        </li>
      ))}
    </ul>
  );
}
