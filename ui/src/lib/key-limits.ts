/** How the limits of a local key stand, as time goes on. */
import type { Key, KeyLimitUse } from "@/bindings";

/** With time applied: what was used in a period that is over is no use any more. */
export function limitsOf({ limitUse }: Key, now: number): readonly KeyLimitUse[] {
  return limitUse.map((limit) =>
    Date.parse(limit.resetsAt) > now ? limit : { ...limit, used: 0, unpricedRequests: 0, level: "within" },
  );
}

/** The used part of a limit: 1 and more, it is used up. */
export const shareOf = ({ used, limit }: KeyLimitUse): number => used / limit;

/** The limit that is nearest to its end. */
export function nearestOf(limits: readonly KeyLimitUse[]): KeyLimitUse | undefined {
  return limits.reduce<KeyLimitUse | undefined>(
    (nearest, limit) => (nearest === undefined || shareOf(limit) > shareOf(nearest) ? limit : nearest),
    undefined,
  );
}

/** The limit for which the key is refused whatever it asks; of several the one that is back last. */
export function refusedBy(limits: readonly KeyLimitUse[]): KeyLimitUse | undefined {
  return limits
    .filter(({ level, scopeType }) => level === "exceeded" && scopeType === "global")
    .sort((a, b) => Date.parse(b.resetsAt) - Date.parse(a.resetsAt))[0];
}
