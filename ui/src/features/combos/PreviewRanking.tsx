/** Those who could be asked, in their order, each with what put it there. */
import { ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import type { PreviewedFactor, PreviewedTarget, Strategy } from "@/bindings";
import { IconButton } from "@/components/ui/button";
import { useProviderNames } from "@/components/use-provider-names";
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { isFigure, useFigure } from "./use-figure";

type PreviewRankingProps = { strategy: Strategy; targets: readonly PreviewedTarget[] };

export function PreviewRanking({ strategy, targets }: PreviewRankingProps) {
  const words = useMessages().combos.preview;
  if (targets.length === 0) return null;
  const isOrdered = strategy !== "fusion";
  return (
    <ol aria-label={words.ranking} className="mt-2">
      {targets.map((target, index) => (
        <RankedTarget key={target.executionKey} target={target} place={isOrdered ? index + 1 : null} />
      ))}
    </ol>
  );
}

function RankedTarget({ target, place }: { target: PreviewedTarget; place: number | null }) {
  const words = useMessages().combos.preview;
  const format = useFormat();
  const nameOf = useProviderNames();
  const figure = useFigure();
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const parts = target.factors.filter(isPart);
  const figures = target.factors.filter(isFigure);
  const moved = target.placed !== "strategy" ? words.placed[target.placed] : null;
  const why = words.why(`${target.model}, ${target.connectionName ?? words.anyAccount}`);
  const isScored = target.score !== null && parts.length > 0;

  return (
    <li className="border-b py-2 last:border-b-0">
      <div className="flex items-baseline gap-2.5">
        <span aria-hidden={place === null} className="w-4 shrink-0 text-right text-ink-faint">
          {place ?? "·"}
        </span>
        <div className="min-w-0 flex-1">
          <div className="flex min-w-0 items-baseline gap-2">
            <span className="min-w-0 flex-1 truncate font-mono" title={`${target.provider}/${target.model}`}>
              {target.model}
            </span>
            {isScored && (
              <span className="shrink-0 font-medium" title={target.executionKey}>
                <span className="sr-only">{words.score(format.hundredths(target.score ?? 0))}</span>
                <span aria-hidden>{format.hundredths(target.score ?? 0)}</span>
              </span>
            )}
          </div>
          <div className="truncate text-ink-faint text-xs" title={target.executionKey}>
            {[target.connectionName ?? words.anyAccount, nameOf(target.provider), moved].filter(Boolean).join(" · ")}
          </div>
          {figures.length > 0 && (
            <div className="text-ink-soft text-xs">{figures.map((part) => figure(part)).join(" · ")}</div>
          )}
          {isScored && (
            <span aria-hidden className="mt-1.5 block h-1 overflow-hidden rounded-full bg-hover">
              <span
                className="block h-full rounded-full bg-accent"
                style={{ width: `${Math.min(1, target.score ?? 0) * 100}%` }}
              />
            </span>
          )}
        </div>
        {parts.length > 0 && (
          <IconButton
            label={why}
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen(!isOpen)}
            className="-my-1 self-start"
          >
            <ChevronRight aria-hidden className={cn("transition-transform duration-100", isOpen && "rotate-90")} />
          </IconButton>
        )}
      </div>
      <div id={id} hidden={!isOpen} className="pt-2 pl-6.5">
        {isOpen && <Parts label={why} parts={parts} />}
      </div>
    </li>
  );
}

type Part = PreviewedFactor & { value: number; weight: number; share: number };

/** A part of a sum, unless it weighs nothing. */
function isPart(factor: PreviewedFactor): factor is Part {
  const { value, weight, share } = factor;
  return value !== null && share !== null && weight !== null && weight > 0;
}

/** Of each part: how much it could bring at most, and how much of that it does. */
function Parts({ label, parts }: { label: string; parts: readonly Part[] }) {
  const words = useMessages().combos;
  const format = useFormat();
  const names: Readonly<Record<string, string>> = words.factors;
  const heaviest = Math.max(...parts.map(({ weight }) => weight));
  return (
    <ul aria-label={label} className="flex flex-col gap-1">
      {[...parts]
        .sort((a, b) => b.share - a.share || b.weight - a.weight)
        .map((part) => {
          const name = names[part.factor] ?? part.factor;
          const [value, most] = [format.hundredths(part.share), format.hundredths(part.weight)];
          const said = words.preview.part(name, value, most);
          return (
            <li
              key={part.factor}
              title={`${part.factor}: ${said}${part.known ? "" : `. ${words.preview.countsAs}`}`}
              className="flex items-center gap-2 text-xs"
            >
              <span className={cn("w-32 shrink-0 truncate", part.known ? "text-ink-soft" : "text-ink-faint")}>
                {name}
              </span>
              <span aria-hidden className="min-w-0 flex-1">
                <span
                  className="block h-2 overflow-hidden rounded-sm bg-accent-soft inset-ring inset-ring-line"
                  style={{ width: `${(part.weight / heaviest) * 100}%` }}
                >
                  <span className="block h-full bg-accent" style={{ width: `${Math.min(1, part.value) * 100}%` }} />
                </span>
              </span>
              {!part.known && <span className="shrink-0 text-ink-faint">{words.preview.notKnown}</span>}
              <span className="w-8 shrink-0 text-right">{value}</span>
            </li>
          );
        })}
    </ul>
  );
}
