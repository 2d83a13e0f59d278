/** A connection in the cooldown manager, with the time applied that passed since it was read. */
import type { CooldownConnection, CooldownStatus } from "@/bindings";
import type { State } from "./connection-state";

export type LiveRow = CooldownConnection & {
  /** End of its own cooldown, or the first of its locks to end; none when no waiting ends it. */
  readonly until: number | null;
};

export const statusSign: Readonly<Record<CooldownStatus, State>> = {
  terminal: "terminal",
  cooling_down: "cooling",
  model_locked: "cooling",
  unavailable: "degraded",
  healthy: "ready",
};

/** The strongest that still holds: terminal, then cooling, then locked, then the last failure. */
export function liveRow(row: CooldownConnection, now: number): LiveRow {
  const lockouts = row.lockouts.filter(({ expiresAt }) => Date.parse(expiresAt) > now);
  const cooling = row.rateLimitedUntil ? Date.parse(row.rateLimitedUntil) : 0;
  if (row.status === "terminal") return { ...row, lockouts, until: null };
  if (cooling > now) return { ...row, lockouts, status: "cooling_down", until: cooling };
  if (lockouts.length > 0) {
    const until = Math.min(...lockouts.map(({ expiresAt }) => Date.parse(expiresAt)));
    return { ...row, lockouts, status: "model_locked", until };
  }
  // In rotation again; whether it works is known with its next success.
  const isDoubtful = row.testStatus === "unavailable" || !row.isActive;
  return { ...row, lockouts, status: isDoubtful ? "unavailable" : "healthy", until: null };
}

const rank: Readonly<Record<CooldownStatus, number>> = {
  terminal: 0,
  cooling_down: 1,
  model_locked: 2,
  unavailable: 3,
  healthy: 4,
};

/** What needs a person first; within a status, what comes back next. */
export function byUrgency(a: LiveRow, b: LiveRow): number {
  return rank[a.status] - rank[b.status] || (a.until ?? 0) - (b.until ?? 0) || a.name.localeCompare(b.name);
}

/** Whether routing passes it by, wholly or for some models. */
export function isOut({ status }: LiveRow): boolean {
  return status === "terminal" || status === "cooling_down" || status === "model_locked";
}

/** Whether anything here ends before its time by being cleared; what needs a person does not. */
export function isClearable({ status, isActive }: LiveRow): boolean {
  return status === "cooling_down" || status === "model_locked" || (status === "unavailable" && isActive);
}
