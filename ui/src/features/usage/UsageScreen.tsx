/** What was consumed: in all, day by day, and by whom. What is looked at stands in the address. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Save } from "lucide-react";
import type { ReactNode } from "react";
import type { UsageGroup } from "@/bindings";
import { Section } from "@/components/Field";
import { FirstStep } from "@/components/FirstStep";
import { notify } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, Skeleton, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Segmented } from "@/components/ui/segmented";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { saveFile } from "@/lib/save-file";
import { answeredPart, beginningOf, everyDay, toCsv } from "@/lib/usage";
import { useNow } from "@/lib/use-now";
import { type Grouping, groupings, type Measure, measures, type Range, ranges, type UsageSearch } from "./search";
import { UsageChart } from "./UsageChart";
import { UsageTable } from "./UsageTable";

const route = getRouteApi("/usage");

export function UsageScreen() {
  const messages = useMessages();
  const words = messages.usage;
  const navigate = useNavigate();
  const { days: range = 30, measure: chosen, by = "provider" } = route.useSearch();
  const now = useNow();
  const since = beginningOf(range, now);
  const perDay = useRead("usage_summary", { groupBy: "day", since }, { keepPrevious: true });
  const grouped = useRead("usage_summary", { groupBy: by, since }, { keepPrevious: true });
  // Where nothing has a price, costs would be an empty plot.
  const measure = chosen ?? (perDay.data && !perDay.data.totals.cost ? "tokens" : "cost");
  const nameOf = useGroupName(by);
  const look = (part: UsageSearch) =>
    void navigate({ to: "/usage", search: (current) => ({ ...current, ...part }), replace: true });
  const isEmpty = perDay.data?.totals.requests === 0;

  return (
    <Screen
      title={words.title}
      help={words.help}
      actions={
        <>
          <Segmented
            label={words.range}
            value={String(range)}
            options={ranges.map((value) => ({ value: String(value), label: words.ranges[value] }))}
            onChange={(value) => look({ days: Number(value) as Range })}
          />
          {grouped.data && !isEmpty && <SaveCsv groups={grouped.data.groups} nameOf={nameOf} by={by} since={since} />}
        </>
      }
    >
      {perDay.error && <ErrorState error={perDay.error} onRetry={() => void perDay.refetch()} />}
      {!perDay.error && !isEmpty && <Totals totals={perDay.data?.totals} />}
      {isEmpty && <EmptyState title={words.emptyTitle} help={words.emptyHelp} action={<FirstStep />} />}
      {!perDay.error && !isEmpty && (
        <>
          <Section
            title={words.perDay}
            help={words.perDayHelp}
            action={
              <Segmented
                label={words.measure}
                value={measure}
                options={measures.map((value) => ({ value, label: words.measures[value] }))}
                onChange={(value) => look({ measure: value as Measure })}
              />
            }
          >
            <div className="pt-5">
              {perDay.data ? (
                <UsageChart days={everyDay(perDay.data.groups, since, now)} measure={measure} />
              ) : (
                <Skeleton className="h-[140px] w-full" />
              )}
            </div>
          </Section>
          <section className="mt-8">
            <Segmented
              label={words.by}
              value={by}
              options={groupings.map((value) => ({ value, label: words.groups[value] }))}
              onChange={(value) => look({ by: value as Grouping })}
              className="mb-2"
            />
            {grouped.isPending && <SkeletonRows rows={5} />}
            {grouped.error && <ErrorState error={grouped.error} onRetry={() => void grouped.refetch()} />}
            {grouped.data && (
              <UsageTable
                label={words.groups[by]}
                groups={grouped.data.groups}
                nameOf={nameOf}
                mono={by === "model" || by === "combo"}
                measure={measure}
              />
            )}
          </section>
        </>
      )}
    </Screen>
  );
}

/** Ids become names; those that have none of what is grouped by are said to. */
function useGroupName(by: Grouping): (group: UsageGroup) => string {
  const words = useMessages().usage;
  const providerName = useProviderNames();
  return ({ group, name }) => {
    if (group === null) return words.none[by];
    return by === "provider" ? providerName(group) : (name ?? group);
  };
}

function Totals({ totals }: { totals: UsageGroup | undefined }) {
  const words = useMessages().usage;
  const format = useFormat();
  const part = totals ? answeredPart(totals) : null;
  return (
    <dl className="flex flex-wrap gap-x-10 gap-y-4">
      <Figure label={words.totals.cost}>
        {totals && (totals.cost > 0 || totals.requests === 0 ? format.dollars(totals.cost) : "–")}
      </Figure>
      <Figure label={words.totals.requests}>{totals && format.number(totals.requests)}</Figure>
      <Figure label={words.totals.answered}>{totals && (part === null ? "–" : format.percent(part))}</Figure>
      <Figure
        label={words.totals.input}
        note={
          totals && totals.tokensInput > 0 && totals.tokensCacheRead > 0
            ? words.cached(format.percent(totals.tokensCacheRead / totals.tokensInput))
            : undefined
        }
      >
        {totals && format.compact(totals.tokensInput)}
      </Figure>
      <Figure label={words.totals.output}>{totals && format.compact(totals.tokensOutput)}</Figure>
    </dl>
  );
}

function Figure({ label, note, children }: { label: string; note?: string | undefined; children: ReactNode }) {
  return (
    <div>
      <dt className="text-ink-faint text-xs">{label}</dt>
      <dd className="mt-0.5 font-medium text-lg">{children ?? <Skeleton className="my-1.5 h-4 w-16" />}</dd>
      {note && <dd className="text-ink-faint text-xs">{note}</dd>}
    </div>
  );
}

type SaveCsvProps = {
  groups: readonly UsageGroup[];
  nameOf(group: UsageGroup): string;
  by: Grouping;
  since: string;
};

function SaveCsv({ groups, nameOf, by, since }: SaveCsvProps) {
  const words = useMessages().usage;
  const name = `omniroute-usage-${by}-since-${since.slice(0, 10)}.csv`;
  return (
    <Button
      onClick={() => {
        saveFile(name, "text/csv", toCsv(groups, nameOf));
        notify.done(words.saved(name));
      }}
    >
      <Save aria-hidden />
      {words.save}
    </Button>
  );
}
