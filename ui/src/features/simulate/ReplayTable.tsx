import { ArrowDown, ArrowUp, Minus } from "lucide-react";
import type { Replayed } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { type Comparison, compare, type Measure } from "@/lib/replay";
import { SeedUsed } from "./SeedField";

type ReplayTableProps = { replay: Replayed; onUseSeed(seed: string): void };

/** Every figure as it was and as it would have been. */
export function ReplayTable({ replay, onUseSeed }: ReplayTableProps) {
  const words = useMessages().simulate;
  const format = useFormat();
  const title = words.result(
    replay.requests,
    format.full(Date.parse(replay.since)),
    format.full(Date.parse(replay.until)),
  );
  return (
    <section className="mt-6" aria-live="polite">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-3">
        <h2 className="font-semibold text-md">{title}</h2>
        <SeedUsed seed={replay.seed} onUse={onUseSeed} />
      </div>
      <table className="w-full table-fixed text-left">
        <caption className="sr-only">{title}</caption>
        <thead className="text-ink-faint text-xs">
          <tr className="h-8 border-b">
            <th scope="col" className="w-[40%] font-normal">
              {words.measure}
            </th>
            <th scope="col" className="text-right font-normal">
              {words.before}
            </th>
            <th scope="col" className="text-right font-normal">
              {words.after}
            </th>
            <th scope="col" className="w-[24%] text-right font-normal">
              {words.difference}
            </th>
          </tr>
        </thead>
        <tbody>
          {compare(replay.before, replay.after).map((comparison) => (
            <Row key={comparison.measure} comparison={comparison} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Row({ comparison }: { comparison: Comparison }) {
  const words = useMessages().simulate;
  const write = useAmount();
  const { measure, before, after, verdict } = comparison;
  const { name, help } = words.measures[measure];
  return (
    <tr className="border-b last:border-b-0">
      <th scope="row" className="py-2 pr-4 font-normal">
        <span className="block font-medium">{name}</span>
        <span className="block text-ink-faint text-xs">{help}</span>
      </th>
      <td className="py-2 text-right text-ink-soft">{write(measure, before)}</td>
      <td className={cn("py-2 text-right", verdict !== "same" && "font-medium")}>{write(measure, after)}</td>
      <td className="py-2 text-right">
        <Difference comparison={comparison} />
      </td>
    </tr>
  );
}

const tone = { better: "text-ready", worse: "text-blocked", same: "text-ink-faint" } as const;

/** How much less or more, and whether that is good: as sign, word and colour. */
function Difference({ comparison: { measure, difference, ratio, verdict } }: { comparison: Comparison }) {
  const words = useMessages().simulate;
  const format = useFormat();
  const write = useAmount();
  const Sign = difference === 0 ? Minus : difference < 0 ? ArrowDown : ArrowUp;
  if (verdict === "same") return <span className={tone.same}>{words.verdicts.same}</span>;
  const sign = difference < 0 ? "−" : "+";
  return (
    <span className={cn("inline-flex items-baseline justify-end gap-1.5", tone[verdict])}>
      <Sign aria-hidden className="size-3.5 shrink-0 self-center" />
      <span>
        {sign}
        {write(measure, Math.abs(difference))}
        {ratio !== null && ` (${sign}${format.percent(Math.abs(ratio))})`}
      </span>
      <span className="text-xs">{words.verdicts[verdict]}</span>
    </span>
  );
}

function useAmount(): (measure: Measure, value: number) => string {
  const format = useFormat();
  return (measure, value) => {
    if (measure === "waitMs") return format.duration(value);
    return measure === "cost" ? format.dollars(value) : format.number(value);
  };
}
