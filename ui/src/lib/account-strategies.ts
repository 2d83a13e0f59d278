/** How the accounts of a provider can take turns, in the words of the gateway. */
import type { SettingField, Value } from "@/bindings";

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
  const chosen = table(field)[provider];
  return accountStrategies.find((strategy) => strategy === chosen) ?? "priority";
}

/** The whole setting with another choice for one provider; the default leaves no entry behind. */
export function withStrategy(field: SettingField, provider: string, strategy: AccountStrategy): Value {
  const { [provider]: _, ...others } = table(field);
  const chosen = strategy === "priority" ? others : { ...others, [provider]: strategy };
  return Object.keys(chosen).length > 0 ? chosen : null;
}

/** Strategies that give one account several requests in a row. */
export function servesInARow(strategy: AccountStrategy): boolean {
  return strategy === "round-robin" || strategy === "weighted";
}

function table({ value }: SettingField): { [provider: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
