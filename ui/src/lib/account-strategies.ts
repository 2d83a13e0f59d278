/** How the accounts of a provider can take turns, in the words of the gateway. */
import type { SettingField, Value } from "@/bindings";
import { membersOf } from "./json-members";

export const accountStrategies = [
  "priority",
  "fill-first",
  "round-robin",
  "weighted",
  "least-used",
  "p2c",
  "random",
  "strict-random",
  "cost-optimized",
] as const;
export type AccountStrategy = (typeof accountStrategies)[number];

export const strategyPath = "routing.accountStrategy";

/** What holds for a provider: by priority where nothing is said. */
export function strategyOf(field: SettingField, provider: string): AccountStrategy {
  const chosen = membersOf(field.value)[provider];
  return accountStrategies.find((strategy) => strategy === chosen) ?? "priority";
}

/** The whole setting with another choice for one provider; the default leaves no entry behind. */
export function withStrategy(field: SettingField, provider: string, strategy: AccountStrategy): Value {
  const { [provider]: _, ...others } = membersOf(field.value);
  const chosen = strategy === "priority" ? others : { ...others, [provider]: strategy };
  return Object.keys(chosen).length > 0 ? chosen : null;
}

/** Strategies that ask the accounts as they stand in the list. */
export function keepsOrder(strategy: AccountStrategy): boolean {
  return strategy === "priority" || strategy === "fill-first";
}

/** Strategies that give one account several requests in a row. */
export function servesInARow(strategy: AccountStrategy): boolean {
  return strategy === "round-robin" || strategy === "weighted";
}
