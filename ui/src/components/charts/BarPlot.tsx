/** Amounts over time as stacked bars. What single bars hold is in their tooltips, the whole of it in the label. */
import { cn } from "@/lib/cn";

export type Bar = {
  readonly id: string;
  /** From the ground up. */
  readonly parts: readonly { readonly id: string; readonly value: number; readonly className: string }[];
  readonly title: string;
};

type BarPlotProps = {
  /** All that is to be seen, in words. */
  label: string;
  bars: readonly Bar[];
  /** Names of the first, a middle and the last bar. */
  ticks: readonly string[];
  write(value: number): string;
  /** What the colours stand for, where there are several. */
  legend?: readonly { readonly name: string; readonly className: string }[];
  height?: number;
};

export function BarPlot({ label, bars, ticks, write, legend, height = 120 }: BarPlotProps) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const top = Math.max(0, ...sums);
  return (
    <div className="min-w-0">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-2">
        <div
          role="img"
          aria-label={label}
          className={cn("flex items-end border-y", bars.length > 45 ? "gap-px" : "gap-0.5")}
          style={{ height }}
        >
          {bars.map((bar, index) => (
            <span key={bar.id} title={bar.title} className="group flex h-full min-w-0 flex-1 flex-col justify-end">
              <span
                className="flex flex-col-reverse overflow-hidden rounded-t-[2px] group-hover:opacity-80"
                style={{ height: top > 0 ? `${((sums[index] ?? 0) / top) * 100}%` : 0 }}
              >
                {bar.parts.map(
                  ({ id, value, className }) =>
                    value > 0 && (
                      <span key={id} className={cn("min-h-px", className)} style={{ flexGrow: value, flexBasis: 0 }} />
                    ),
                )}
              </span>
            </span>
          ))}
        </div>
        {top > 0 && (
          <span aria-hidden className="min-w-10 -translate-y-1/2 self-start whitespace-nowrap text-ink-faint text-xs">
            {write(top)}
          </span>
        )}
        <div aria-hidden className="col-start-1 mt-1 flex justify-between text-ink-faint text-xs">
          {ticks.map((tick) => (
            <span key={tick}>{tick}</span>
          ))}
        </div>
      </div>
      {legend && (
        <ul aria-hidden className="mt-2 flex flex-wrap gap-x-4 text-ink-soft text-xs">
          {legend.map(({ name, className }) => (
            <li key={name} className="inline-flex items-center gap-1.5">
              <span className={cn("size-2 rounded-[2px]", className)} />
              {name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
