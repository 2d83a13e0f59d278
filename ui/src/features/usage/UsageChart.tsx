/** Consumption per day as bars. The same days stand below them in words when the pointer asks. */
import type { UsageGroup } from "@/bindings";
import { BarPlot } from "@/components/charts/BarPlot";
import { type Messages, useFormat, useMessages } from "@/i18n";
import type { Format } from "@/lib/format";
import type { Measure } from "./search";

type UsageChartProps = { days: readonly UsageGroup[]; measure: Measure };

export function UsageChart({ days, measure }: UsageChartProps) {
  const messages = useMessages();
  const words = messages.usage;
  const format = useFormat();
  const { of, write, parts, said, legend } = looks(messages, format)[measure];
  const total = days.reduce((sum, day) => sum + of(day), 0);
  const most = days.reduce<UsageGroup | undefined>(
    (best, day) => (!best || of(day) > of(best) ? day : best),
    undefined,
  );
  const name = words.measures[measure];
  return (
    <BarPlot
      label={
        most && total > 0
          ? words.chart(name, said(total), days.length, said(of(most)), dayName(most, format))
          : words.chartEmpty(name, days.length)
      }
      bars={days.map((day) => ({
        id: day.group ?? "",
        parts: parts(day),
        title: words.day(dayName(day, format), said(of(day)), format.number(day.requests)),
      }))}
      ticks={ticksOf(days, format)}
      write={write}
      {...(legend && { legend: legend.filter(({ of }) => days.some((day) => of(day) > 0)) })}
    />
  );
}

type Look = {
  of(day: UsageGroup): number;
  /** At the upper hairline, where there is little room. */
  write(value: number): string;
  /** In words. */
  said(value: number): string;
  parts(day: UsageGroup): { id: string; value: number; className: string }[];
  /** Where the parts have a colour each. */
  legend?: { name: string; className: string; of(day: UsageGroup): number }[];
};

function looks({ usage: words, outcomes }: Messages, format: Format): Record<Measure, Look> {
  return {
    cost: {
      of: ({ cost }) => cost,
      write: format.dollars,
      said: format.dollars,
      parts: ({ cost }) => [{ id: "cost", value: cost, className: "bg-accent" }],
    },
    tokens: {
      of: ({ tokensInput, tokensOutput }) => tokensInput + tokensOutput,
      write: format.compact,
      said: (value) => words.tokensOf(format.compact(value)),
      parts: ({ tokensInput, tokensOutput }) => [
        { id: "input", value: tokensInput, className: "bg-accent" },
        { id: "output", value: tokensOutput, className: "bg-focus opacity-60" },
      ],
      legend: [
        { name: words.columns.input, className: "bg-accent", of: ({ tokensInput }) => tokensInput },
        { name: words.columns.output, className: "bg-focus opacity-60", of: ({ tokensOutput }) => tokensOutput },
      ],
    },
    requests: {
      of: ({ requests }) => requests,
      write: format.compact,
      said: format.number,
      parts: ({ successes, aborted, failures }) => [
        { id: "successes", value: successes, className: "bg-ready" },
        { id: "aborted", value: aborted, className: "bg-terminal" },
        { id: "failures", value: failures, className: "bg-blocked" },
      ],
      legend: [
        { name: outcomes.success, className: "bg-ready", of: ({ successes }) => successes },
        { name: outcomes.aborted, className: "bg-terminal", of: ({ aborted }) => aborted },
        { name: outcomes.failure, className: "bg-blocked", of: ({ failures }) => failures },
      ],
    },
  };
}

function dayName({ group }: UsageGroup, format: Format): string {
  return group ? format.day(Date.parse(`${group}T12:00:00Z`)) : "";
}

function ticksOf(days: readonly UsageGroup[], format: Format): string[] {
  const shown = [days[0], days[Math.floor((days.length - 1) / 2)], days.at(-1)];
  return shown.filter((day) => day !== undefined).map((day) => dayName(day, format));
}
