/** What counts how much when everyone is scored: a ready-made balance, or one's own. */
import { useId } from "react";
import { useRead } from "@/host/queries";
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
import { type ComboLevel, chosenForProvider, FOR_ALL, valueAt, withSetting } from "@/lib/combo-settings";
import { Field } from "./Field";
import { Select } from "./ui/select";

type AutoWeightsProps = {
  config: ComboConfig;
  onChange(config: ComboConfig): void;
  /** Weights of one's own are for a single combo; several share a ready-made balance. */
  level?: ComboLevel;
  /** Of a combo: the provider that all its steps lead to. */
  provider?: string | null;
};

type Choice = WeightPack | "default" | "own";
const packs = Object.keys(weightPacks) as WeightPack[];
const NAME = "autoConfig.modePack";

export function AutoWeights({ config, onChange, level = "combo", provider = null }: AutoWeightsProps) {
  const { weights: words, origin, ofProvider } = useMessages().combos;
  const below = useInherited(level, provider);
  const own = readWeights(valueAt(config, "autoConfig.weights"));
  const pack = weightPack(valueAt(config, NAME));
  const choice: Choice = own ? "own" : (pack ?? "default");
  const inForce = pack ?? below?.pack;
  const weights = own ?? (inForce ? weightPacks[inForce] : defaultWeights);
  const isOfOne = level === "combo";

  const choices: Choice[] = ["default", ...packs];
  if (isOfOne || own) choices.push("own");
  const labelOf = (value: Choice) =>
    value === "default" && below
      ? ofProvider.packBelow(words.packs[below.pack], origin[below.from])
      : words.packs[value];

  const choose = (next: Choice) => {
    const cleared = withSetting(config, "autoConfig.weights", null);
    if (next === "own") onChange(withSetting(config, "autoConfig.weights", { ...weights }));
    else onChange(withSetting(cleared, NAME, next === "default" ? null : next));
  };

  return (
    <div {...(level === "all" && { "data-setting": `${FOR_ALL}${NAME}` })} className="border-b py-3">
      <Field label={words.pack} help={words.help} className="max-w-[420px]">
        {(control) => (
          <Select
            {...control}
            value={choice}
            options={choices.map((value) => ({ value, label: labelOf(value) }))}
            onChange={choose}
          />
        )}
      </Field>
      <WeightTable
        weights={weights}
        {...(own &&
          isOfOne && {
            onChange: (factor: Factor, weight: number) =>
              onChange(withSetting(config, "autoConfig.weights", { ...own, [factor]: weight })),
          })}
      />
    </div>
  );
}

/** The balance that shows through where this level chooses none. */
function useInherited(level: ComboLevel, provider: string | null) {
  const fields = useRead("settings_fields", null).data?.fields ?? [];
  if (level === "all") return null;
  const ofProvider = provider === null ? undefined : weightPack(valueAt(chosenForProvider(fields, provider), NAME));
  if (ofProvider) return { pack: ofProvider, from: "provider" } as const;
  const forAll = weightPack(fields.find(({ path }) => path === `${FOR_ALL}${NAME}`)?.value);
  return forAll ? ({ pack: forAll, from: "environment" } as const) : null;
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
