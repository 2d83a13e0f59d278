/** How the windows of one account filled: a small plot for each, read only while somebody looks. */
import { useState } from "react";
import type { QuotaPoint } from "@/bindings";
import { LinePlot } from "@/components/charts/LinePlot";
import { ErrorState, Skeleton } from "@/components/States";
import { Segmented } from "@/components/ui/segmented";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { byWindow, courseOf } from "@/lib/quota-plot";
import { useNow } from "@/lib/use-now";
import { windowWords } from "./window-words";

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** The gateway keeps one point for every five minutes: more often there is nothing new. */
const STEP_MS = 5 * 60_000;
/** Of windows that begin anew every minute, marks would hide the line. */
const MOST_MARKS = 30;

const spans = { day: DAY_MS, week: 7 * DAY_MS, twoWeeks: 14 * DAY_MS } as const;
type Span = keyof typeof spans;

export function QuotaCourse({ connectionId, account }: { connectionId: string; account: string }) {
  const words = useMessages().quota.course;
  const now = useNow();
  const [span, setSpan] = useState<Span>("day");
  const from = Math.floor((now - spans[span]) / STEP_MS) * STEP_MS;
  const read = useRead("quota_history", { connectionId, since: new Date(from).toISOString() }, { keepPrevious: true });
  const windows = byWindow(read.data?.points ?? []);
  return (
    <div className="pt-1 pb-2">
      <Segmented
        label={words.span}
        value={span}
        options={(Object.keys(spans) as Span[]).map((value) => ({ value, label: words.spans[value] }))}
        onChange={setSpan}
      />
      {read.isPending && <Skeleton className="mt-4 h-20 w-full" />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && windows.size === 0 && <p className="pt-3 text-ink-faint">{words.none}</p>}
      <div className="grid grid-cols-1 gap-x-10 gap-y-5 pt-4 roomy:grid-cols-2">
        {[...windows].map(([name, points]) => (
          <WindowPlot key={name} {...{ name, points, account, from }} to={now} />
        ))}
      </div>
    </div>
  );
}

type WindowPlotProps = { name: string; points: readonly QuotaPoint[]; account: string; from: number; to: number };

function WindowPlot({ name, points, account, from, to }: WindowPlotProps) {
  const messages = useMessages();
  const words = messages.quota.course;
  const format = useFormat();
  const { runs, resets } = courseOf(points, to);
  const window = windowWords(name, messages);
  const values = runs.flat().map(({ value }) => value);
  const last = runs.at(-1)?.at(-1)?.value ?? 0;
  const percent = (value: number) => format.percent(value);
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1.5 flex items-baseline justify-between gap-3 pr-12">
        <span className="truncate font-medium" title={name}>
          {window}
        </span>
        <span className="shrink-0 text-ink-faint text-xs">{words.resets(resets.length)}</span>
      </figcaption>
      <LinePlot
        label={words.plot({
          window,
          account,
          since: format.full(from),
          lowest: percent(Math.min(...values)),
          highest: percent(Math.max(...values)),
          now: percent(last),
          resets: words.resets(resets.length),
        })}
        from={from}
        to={to}
        top={1}
        lines={[{ id: name, runs, className: "text-accent", filled: true }]}
        marks={resets.length <= MOST_MARKS ? resets : []}
        write={percent}
      />
    </figure>
  );
}
