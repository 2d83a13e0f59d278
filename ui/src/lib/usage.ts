/** Consumption, day by day and as a table. Days are days in UTC, as the gateway counts them. */
import type { UsageGroup } from "@/bindings";

const DAY_MS = 24 * 60 * 60_000;

/** The first instant of the day so many days ago, today included: the same one all day long. */
export function beginningOf(days: number, now: number): string {
  return new Date((Math.floor(now / DAY_MS) - days + 1) * DAY_MS).toISOString();
}

const nothing = {
  name: null,
  requests: 0,
  successes: 0,
  failures: 0,
  aborted: 0,
  tokensInput: 0,
  tokensOutput: 0,
  tokensCacheRead: 0,
  tokensCacheCreation: 0,
  tokensReasoning: 0,
  cost: 0,
};

/** Every day up to today, those without a request included. */
export function everyDay(groups: readonly UsageGroup[], since: string, now: number): UsageGroup[] {
  const known = new Map(groups.map((group) => [group.group, group]));
  const days: UsageGroup[] = [];
  for (let at = Date.parse(since); at <= now; at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.push(known.get(day) ?? { ...nothing, group: day });
  }
  return days;
}

/** The part of the finished requests that were answered, 0 to 1; `null` where none has finished. */
export function answeredPart({ successes, failures }: Pick<UsageGroup, "successes" | "failures">): number | null {
  const finished = successes + failures;
  return finished > 0 ? successes / finished : null;
}

/** A table that every spreadsheet reads. */
export function toCsv(groups: readonly UsageGroup[], nameOf: (group: UsageGroup) => string): string {
  const head = [
    "name",
    "requests",
    "successes",
    "failures",
    "aborted",
    "tokens_input",
    "tokens_output",
    "tokens_cache_read",
    "tokens_cache_creation",
    "tokens_reasoning",
    "cost_usd",
  ];
  const rows = groups.map((group) => [
    quoted(nameOf(group)),
    group.requests,
    group.successes,
    group.failures,
    group.aborted,
    group.tokensInput,
    group.tokensOutput,
    group.tokensCacheRead,
    group.tokensCacheCreation,
    group.tokensReasoning,
    group.cost,
  ]);
  return [head, ...rows].map((row) => row.join(",")).join("\r\n");
}

/** A name that looks like a formula is not to be one in a spreadsheet. */
function quoted(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
