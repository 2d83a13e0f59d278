/** What a connection's record says about it, in the six states that every screen uses. */
import type { Connection } from "@/bindings";

export type State = "ready" | "degraded" | "cooling" | "blocked" | "terminal" | "probing";

/** The word beside the sign; a key of `messages.state`. */
export type StateWord =
  | "ready"
  | "unavailable"
  | "cooling"
  | "noKey"
  | "banned"
  | "expired"
  | "keyRefused"
  | "creditsExhausted"
  | "terminal"
  | "off"
  | "probing";

export type ConnectionState = {
  readonly state: State;
  readonly word: StateWord;
  /** When waiting ends, as milliseconds since the epoch. */
  readonly until: number | null;
};

/** The states that no waiting ends, by their name in the record. */
const terminalWords: Readonly<Record<string, StateWord>> = {
  banned: "banned",
  expired: "expired",
  credits_exhausted: "creditsExhausted",
  deactivated: "terminal",
};

/** Why only a person brings it back; none while waiting may. */
export function terminalWord({ testStatus, authType }: Pick<Connection, "testStatus" | "authType">): StateWord | null {
  const word = terminalWords[testStatus] ?? null;
  // Whoever shows a key signs in nowhere.
  return word === "expired" && authType === "apikey" ? "keyRefused" : word;
}

export function connectionState(connection: Connection, now: number): ConnectionState {
  if (!connection.isActive) return { state: "terminal", word: "off", until: null };
  const terminal = terminalWord(connection);
  if (terminal) return { state: "terminal", word: terminal, until: null };
  if (connection.authType !== "none" && !connection.hasCredential)
    return { state: "blocked", word: "noKey", until: null };
  const until = connection.rateLimitedUntil ? Date.parse(connection.rateLimitedUntil) : null;
  if (until !== null && until > now) return { state: "cooling", word: "cooling", until };
  if (connection.lastError && connection.testStatus !== "active") {
    return { state: "degraded", word: "unavailable", until: null };
  }
  return { state: "ready", word: "ready", until: null };
}

export type StateCounts = Readonly<Record<Exclude<State, "probing"> | "off", number>> & {
  /** The earliest end of a cooldown. */
  readonly nextBack: number | null;
};

/** How many are in which state. Whoever its owner switched off counts apart: nothing there is to be mended. */
export function countStates(connections: readonly Connection[], now: number): StateCounts {
  const counts = {
    ready: 0,
    degraded: 0,
    cooling: 0,
    blocked: 0,
    terminal: 0,
    off: 0,
    nextBack: null as number | null,
  };
  for (const connection of connections) {
    const { state, word, until } = connectionState(connection, now);
    if (word === "off") counts.off += 1;
    else if (state !== "probing") counts[state] += 1;
    if (until !== null) counts.nextBack = Math.min(counts.nextBack ?? Number.POSITIVE_INFINITY, until);
  }
  return counts;
}

/** How many only a person can mend. */
export function needingAttention({ blocked, terminal }: StateCounts): number {
  return blocked + terminal;
}
