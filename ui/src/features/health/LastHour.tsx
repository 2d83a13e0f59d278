/** Outcomes and waiting times of the last hour, minute by minute. */
import type { HealthHistory, HealthStretch } from "@/bindings";
import { BarPlot } from "@/components/charts/BarPlot";
import { LinePlot, type Sample } from "@/components/charts/LinePlot";
import { ErrorState, Skeleton } from "@/components/States";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";

export function LastHour() {
  const words = useMessages().flow;
  const read = useRead("health_history", {});
  if (read.isPending) return <Skeleton className="mt-4 h-28 w-full" />;
  if (read.error) return <ErrorState error={read.error} onRetry={() => void read.refetch()} />;
  if (read.data.stretches.length === 0) return <p className="pt-3 text-ink-faint">{words.quiet}</p>;
  return (
    <div className="grid grid-cols-1 gap-x-10 gap-y-6 pt-4 roomy:grid-cols-2">
      <Outcomes history={read.data} />
      <Waits history={read.data} />
    </div>
  );
}

function Outcomes({ history }: { history: HealthHistory }) {
  const words = useMessages().flow;
  const format = useFormat();
  const slots = slotsOf(history);
  const sum = (of: (stretch: HealthStretch) => number) => history.stretches.reduce((all, one) => all + of(one), 0);
  const [answered, failed] = [sum(({ successes }) => successes), sum(({ failures }) => failures)];
  const part = format.percent(answered + failed > 0 ? failed / (answered + failed) : 0);
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1.5 flex items-baseline justify-between gap-3 pr-12">
        <span className="font-medium">{words.outcomes}</span>
        <span className={failed > 0 ? "text-blocked text-xs" : "text-ink-faint text-xs"}>{words.errorRate(part)}</span>
      </figcaption>
      <BarPlot
        height={72}
        label={words.outcomesLabel({ answered: format.number(answered), failed: format.number(failed), part })}
        bars={slots.map(({ at, stretch }) => ({
          id: String(at),
          title: words.bar(
            format.clock(at),
            format.number(stretch?.successes ?? 0),
            format.number(stretch?.failures ?? 0),
            format.number(stretch?.aborted ?? 0),
          ),
          parts: [
            { id: "successes", value: stretch?.successes ?? 0, className: "bg-ready" },
            { id: "aborted", value: stretch?.aborted ?? 0, className: "bg-terminal" },
            { id: "failures", value: stretch?.failures ?? 0, className: "bg-blocked" },
          ],
        }))}
        ticks={[format.clock(Date.parse(history.since)), format.clock(Date.parse(history.until))]}
        write={format.compact}
      />
    </figure>
  );
}

function Waits({ history }: { history: HealthHistory }) {
  const words = useMessages().flow;
  const format = useFormat();
  // Answers in one piece have no first token: then their whole duration says how long one waits.
  const streamed = history.stretches.some(({ firstTokenP50Ms }) => firstTokenP50Ms !== null);
  const half = runsOf(history, streamed ? "firstTokenP50Ms" : "p50Ms");
  const most = runsOf(history, streamed ? "firstTokenP95Ms" : "p95Ms");
  const title = streamed ? words.firstToken : words.duration;
  const said = { half: lastOf(half, format.duration), most: lastOf(most, format.duration) };
  const top = Math.max(1, ...most.flat().map(({ value }) => value));
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1.5 flex items-baseline justify-between gap-3 pr-12">
        <span className="font-medium">{title}</span>
        <span className="truncate text-ink-faint text-xs">{words.waits(said)}</span>
      </figcaption>
      <LinePlot
        height={72}
        label={words.waitsLabel(title, said)}
        from={Date.parse(history.since)}
        to={Date.parse(history.until)}
        top={top}
        lines={[
          { id: "most", runs: most, className: "text-ink-faint", dashed: true, name: words.most },
          { id: "half", runs: half, className: "text-accent", filled: true, name: words.half },
        ]}
        write={format.duration}
      />
    </figure>
  );
}

type Slot = { readonly at: number; readonly stretch: HealthStretch | undefined };

/** Every stretch of the time, those without a request included. */
function slotsOf({ since, until, stretchMs, stretches }: HealthHistory): Slot[] {
  const known = new Map(stretches.map((stretch) => [Date.parse(stretch.at), stretch]));
  const slots: Slot[] = [];
  for (let at = Date.parse(since); at < Date.parse(until); at += stretchMs) slots.push({ at, stretch: known.get(at) });
  return slots;
}

type Length = "p50Ms" | "p95Ms" | "firstTokenP50Ms" | "firstTokenP95Ms";

/** A line ends where nobody was answered for more than a few stretches. */
const GAP = 5;

function runsOf({ stretches, stretchMs }: HealthHistory, of: Length): Sample[][] {
  const runs: Sample[][] = [];
  for (const stretch of stretches) {
    const value = stretch[of];
    if (value === null) continue;
    const sample = { at: Date.parse(stretch.at) + stretchMs / 2, value };
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run && last && sample.at - last.at <= GAP * stretchMs) run.push(sample);
    else runs.push([sample]);
  }
  return runs;
}

function lastOf(runs: readonly Sample[][], write: (value: number) => string): string {
  const last = runs.at(-1)?.at(-1);
  return last ? write(last.value) : "–";
}
