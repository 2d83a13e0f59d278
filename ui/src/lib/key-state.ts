import type { Key } from "@/bindings";
import type { State } from "./connection-state";
import { limitsOf, refusedBy } from "./key-limits";

export type KeyState = {
  readonly state: State;
  readonly word: "active" | "off" | "expired" | "spent" | "near";
};

/** Whether the key opens the gateway now, and how near it is to what it may spend. */
export function keyState(key: Key, now: number): KeyState {
  const { isActive, expiresAt } = key;
  if (!isActive) return { state: "terminal", word: "off" };
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return { state: "terminal", word: "expired" };
  const limits = limitsOf(key, now);
  if (refusedBy(limits)) return { state: "blocked", word: "spent" };
  if (limits.some(({ level }) => level !== "within")) return { state: "degraded", word: "near" };
  return { state: "ready", word: "active" };
}
