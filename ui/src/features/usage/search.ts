/** What of the usage is looked at, as it stands in the screen's address. */

export const ranges = [7, 30, 90] as const;
export const measures = ["cost", "tokens", "requests"] as const;
export const groupings = ["provider", "model", "connection", "combo", "key"] as const;

export type Range = (typeof ranges)[number];
export type Measure = (typeof measures)[number];
export type Grouping = (typeof groupings)[number];
export type UsageSearch = { days?: Range; measure?: Measure; by?: Grouping };

/** Whatever an address holds, only what can be meant is kept. */
export function readUsageSearch(search: Record<string, unknown>): UsageSearch {
  const days = ranges.find((known) => known === search.days);
  const measure = measures.find((known) => known === search.measure);
  const by = groupings.find((known) => known === search.by);
  return { ...(days && { days }), ...(measure && { measure }), ...(by && { by }) };
}
