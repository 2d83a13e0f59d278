/** The ways a combo can choose, in families, and the settings that each of them reads (gateway specification, 3.4). */
import type { Strategy } from "@/bindings";

export type StrategyFamily = "order" | "spread" | "facts" | "together";

export const strategyFamilies: Readonly<Record<StrategyFamily, readonly Strategy[]>> = {
  order: ["priority", "fill-first", "lkgp", "context-relay"],
  spread: ["weighted", "round-robin", "random", "strict-random", "p2c", "least-used"],
  facts: ["auto", "cost-optimized", "headroom", "reset-aware", "reset-window", "context-optimized", "cache-optimized"],
  together: ["fusion", "pipeline"],
};

export const strategies: readonly Strategy[] = Object.values(strategyFamilies).flat();

const own: Partial<Record<Strategy, readonly string[]>> = {
  weighted: ["stickyWeightedLimit"],
  "round-robin": ["stickyRoundRobinLimit", "concurrencyPerModel", "queueTimeoutMs", "queueDepth"],
  "context-relay": ["handoffThreshold", "handoffModel", "handoffProviders", "maxMessagesForSummary"],
  "reset-aware": [
    "resetAwareSessionWeight",
    "resetAwareWeeklyWeight",
    "resetAwareTieBandPercent",
    "resetAwareExhaustionGuardPercent",
  ],
  "reset-window": ["resetWindowNames", "includeSessionWindow", "resetWindowTieBandMs"],
  auto: [
    "autoConfig.routerStrategy",
    "autoConfig.explorationRate",
    "autoConfig.candidatePool",
    "autoConfig.budgetUsd",
    "autoConfig.budgetMode",
  ],
  fusion: ["fusion.minPanel", "fusion.stragglerGraceMs", "fusion.panelHardTimeoutMs", "fusion.judgeModel"],
};

const serviceLevel = [
  "autoConfig.slaTargetP95Ms",
  "autoConfig.slaMaxErrorRate",
  "autoConfig.slaMaxCostPer1MTokens",
  "autoConfig.slaHardConstraints",
];

/** The settings that only this strategy reads; `router` is how `auto` orders its candidates. */
export function settingsOf(strategy: Strategy, router?: unknown): readonly string[] {
  const names = own[strategy] ?? [];
  return strategy === "auto" && router === "sla-aware" ? [...names, ...serviceLevel] : names;
}

/**
 * In some the owner's order decides, of others spreading is the point, others ask several at once: a conversation then stays
 * nowhere.
 */
const withoutConversations: readonly Strategy[] = [
  "priority",
  "fill-first",
  "context-relay",
  "random",
  "strict-random",
  "round-robin",
  "fusion",
  "pipeline",
];

export function keepsConversations(strategy: Strategy): boolean {
  return !withoutConversations.includes(strategy);
}

/** Whether a step's own instructions are used. */
export function usesPrompts(strategy: Strategy): boolean {
  return strategy === "fusion" || strategy === "pipeline";
}

/** Whether the order of one request says little about the next. */
export function drawsLots(strategy: Strategy): boolean {
  return (["weighted", "random", "strict-random", "p2c"] as Strategy[]).includes(strategy);
}
