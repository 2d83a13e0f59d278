/**
 * A calm plot over time: lines on two hairlines, no grid, no legend. What it shows stands in words beside or below it, and
 * its label says it to whoever cannot see it; the pointer reads single values.
 */
import { type PointerEvent, type ReactNode, useState } from "react";
import { useFormat } from "@/i18n";
import { cn } from "@/lib/cn";

export type Sample = { readonly at: number; readonly value: number };

export type Line = {
  readonly id: string;
  /** Stretches that hang together; between them nothing is known. */
  readonly runs: readonly (readonly Sample[])[];
  /** A colour of the text, which line and wash take over. */
  readonly className: string;
  /** Washed down to the ground. */
  readonly filled?: boolean;
  readonly dashed?: boolean;
  /** What its values are called when the pointer reads them. */
  readonly name?: string;
};

type LinePlotProps = {
  /** All that is to be seen, in words. */
  label: string;
  from: number;
  to: number;
  /** The value at the upper hairline; the lower one is nought. */
  top: number;
  lines: readonly Line[];
  /** Instants marked by an upright hairline. */
  marks?: readonly number[];
  /** A value as it is written, unit included. */
  write(value: number): string;
  height?: number;
  className?: string;
};

const WIDTH = 1_000;
const HEIGHT = 100;
const DAY_MS = 24 * 60 * 60_000;

export function LinePlot({ label, from, to, top, lines, marks = [], write, height = 56, className }: LinePlotProps) {
  const format = useFormat();
  const [pointed, setPointed] = useState<number | null>(null);
  const x = (at: number) => ((at - from) / (to - from)) * WIDTH;
  const y = (value: number) => HEIGHT - (Math.min(Math.max(value, 0), top) / top) * HEIGHT;
  const clock = (at: number) => (to - from > DAY_MS ? format.dayClock(at) : format.clock(at));
  const follow = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    if (width > 0) setPointed(from + ((event.clientX - left) / width) * (to - from));
  };
  const read = pointed === null ? [] : lines.flatMap((line) => readAt(line, pointed));
  const at = read[0]?.at;

  return (
    <div className={cn("min-w-0", className)}>
      <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-2">
        <div
          className="relative border-y"
          style={{ height }}
          onPointerMove={follow}
          onPointerLeave={() => setPointed(null)}
        >
          <svg
            role="img"
            aria-label={label}
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            className="absolute inset-0 size-full overflow-visible"
          >
            {marks.map((mark) => (
              <Upright key={mark} x={x(mark)} className="text-line-strong" dashed />
            ))}
            {lines.map((line) => (
              <g key={line.id} className={line.className}>
                {line.runs.map((run) => (
                  <Run key={run[0]?.at} run={run} line={line} x={x} y={y} />
                ))}
              </g>
            ))}
            {at !== undefined && <Upright x={x(at)} className="text-ink-faint" />}
          </svg>
        </div>
        <Bounds top={write(top)} bottom={write(0)} />
        <div className="col-start-1 mt-1 flex min-w-0 justify-between gap-3 text-ink-faint text-xs">
          <span>{clock(from)}</span>
          <span aria-hidden className="min-w-0 truncate text-ink-soft">
            {at !== undefined && (
              <>
                {clock(at)}
                {read.map(({ name, value }) => (
                  <Reading key={name}>{[name, write(value)].filter(Boolean).join(" ")}</Reading>
                ))}
              </>
            )}
          </span>
          <span>{clock(to)}</span>
        </div>
      </div>
    </div>
  );
}

function Reading({ children }: { children: ReactNode }) {
  return <span className="ml-2">{children}</span>;
}

function Bounds({ top, bottom }: { top: string; bottom: string }) {
  return (
    <span
      aria-hidden
      className="flex min-w-10 flex-col justify-between whitespace-nowrap text-ink-faint text-xs leading-none"
    >
      <span className="-translate-y-1/2">{top}</span>
      <span className="translate-y-1/2">{bottom}</span>
    </span>
  );
}

type RunProps = { run: readonly Sample[]; line: Line; x(at: number): number; y(value: number): number };

function Run({ run, line, x, y }: RunProps) {
  const [first] = run;
  const last = run.at(-1);
  if (!first || !last) return null;
  if (run.length === 1) {
    // A single value has no length: the round ends of its stroke make a dot.
    return <Stroke d={`M${x(first.at)} ${y(first.value)}h0`} dashed={false} width={5} />;
  }
  const path = run.map(({ at, value }, index) => `${index === 0 ? "M" : "L"}${x(at)} ${y(value)}`).join("");
  return (
    <>
      {line.filled && (
        <path d={`${path}L${x(last.at)} ${HEIGHT}L${x(first.at)} ${HEIGHT}Z`} fill="currentColor" fillOpacity="0.1" />
      )}
      <Stroke d={path} dashed={line.dashed ?? false} />
    </>
  );
}

function Stroke({ d, dashed, width = 1.5 }: { d: string; dashed: boolean; width?: number }) {
  return (
    <path
      d={d}
      fill="none"
      stroke="currentColor"
      strokeWidth={width}
      strokeLinejoin="round"
      strokeLinecap="round"
      vectorEffect="non-scaling-stroke"
      {...(dashed && { strokeDasharray: "3 3" })}
    />
  );
}

function Upright({ x, className, dashed = false }: { x: number; className: string; dashed?: boolean }) {
  return (
    <path
      d={`M${x} 0V${HEIGHT}`}
      className={className}
      fill="none"
      stroke="currentColor"
      strokeWidth="1"
      vectorEffect="non-scaling-stroke"
      {...(dashed && { strokeDasharray: "2 3" })}
    />
  );
}

/** The known value nearest to an instant. */
function readAt({ runs, name }: Line, instant: number): { at: number; value: number; name: string | undefined }[] {
  const samples = runs.flat();
  const nearest = samples.reduce<Sample | undefined>(
    (best, sample) => (!best || Math.abs(sample.at - instant) < Math.abs(best.at - instant) ? sample : best),
    undefined,
  );
  return nearest ? [{ ...nearest, name }] : [];
}
