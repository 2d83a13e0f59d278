/**
 * The operations of resilience as the gateway will offer them, in the form of `bindings.ts`. To be removed as soon as the
 * generated bindings hold them.
 */
import type { AuthType, Breaker, BreakerState, ControlError, Done, Instant, Lockout } from "./bindings";

type Reply<T> = Promise<{ status: "ok"; data: T } | { status: "error"; error: ControlError }>;

export type PendingCommands = {
  breakers_list: () => Reply<Breakers>;
  breaker_reset: (id: string) => Reply<Done>;
  resilience_reset: () => Reply<ResilienceReset>;
  model_cooldowns_list: () => Reply<ModelCooldowns>;
  model_cooldowns_clear: (input: ModelCooldownSelection) => Reply<ModelCooldownsCleared>;
  cooldowns_list: (input: CooldownFilter) => Reply<Cooldowns>;
  cooldowns_clear: (input: CooldownSelection) => Reply<CooldownsCleared>;
  resilience_explain: (input: ExplainQuery) => Reply<ResilienceExplanation>;
  banned_signals_preview: (input: BannedSignal) => Reply<BannedSignalPreview>;
};

export const operations = [
  {
    kind: "read",
    method: "GET",
    name: "breakers_list",
    open: false,
    path: "/api/resilience/breakers",
    status: 200,
    summary: "Circuit breakers with their history",
    topics: ["breakers"],
  },
  {
    kind: "read",
    method: "GET",
    name: "model_cooldowns_list",
    open: false,
    path: "/api/resilience/model-cooldowns",
    status: 200,
    summary: "Models that rest on an account",
    topics: ["lockouts", "connections"],
  },
  {
    kind: "read",
    method: "GET",
    name: "cooldowns_list",
    open: false,
    path: "/api/resilience/cooldowns",
    status: 200,
    summary: "Connections with what keeps them out",
    topics: ["connections", "cooldowns", "lockouts"],
  },
  {
    kind: "read",
    method: "GET",
    name: "resilience_explain",
    open: false,
    path: "/api/resilience/explain",
    status: 200,
    summary: "Who would be asked for a model, and why not the others",
    topics: ["connections", "cooldowns", "breakers", "lockouts", "combos"],
  },
  {
    kind: "change",
    method: "POST",
    name: "resilience_reset",
    open: false,
    path: "/api/resilience/reset",
    status: 200,
    summary: "Close every breaker",
    topics: ["breakers", "lockouts"],
  },
  {
    kind: "change",
    method: "POST",
    name: "breaker_reset",
    open: false,
    path: "/api/resilience/breakers/{id}/reset",
    status: 200,
    summary: "Close one breaker",
    topics: ["breakers"],
  },
  {
    kind: "change",
    method: "DELETE",
    name: "model_cooldowns_clear",
    open: false,
    path: "/api/resilience/model-cooldowns",
    status: 200,
    summary: "Use locked models again",
    topics: ["lockouts"],
  },
  {
    kind: "change",
    method: "POST",
    name: "cooldowns_clear",
    open: false,
    path: "/api/resilience/cooldowns",
    status: 200,
    summary: "Use cooling connections again",
    topics: ["connections", "cooldowns", "lockouts"],
  },
  {
    kind: "change",
    method: "POST",
    name: "banned_signals_preview",
    open: false,
    path: "/api/resilience/banned-signals/preview",
    status: 200,
    summary: "What a ban phrase would have matched",
    topics: [],
  },
] as const;

export type ResilienceReset = {
  ok: boolean;
  /** Breakers that are closed now and were not as new before. */
  resetCount: number;
  /** Model locks that ended. */
  lockoutsCleared: number;
  message: string;
};

export type Breakers = { breakers: BreakerDetail[] };

/** One provider's circuit breaker with its numbers and its latest changes. */
export type BreakerDetail = {
  provider: string;
  /** The provider's id where the catalogue no longer knows it. */
  providerName: string;
  state: BreakerState;
  failureCount: number;
  failureThreshold: number;
  degradationThreshold: number;
  /** Failed probes since the last recovery. */
  openCycles: number;
  lastFailure: Instant | null;
  /** Until a probe is let through; 0 unless open. */
  retryAfterMs: number;
  /** The one probe of the half-open state is under way. */
  probing: boolean;
  /** The latest twenty, oldest first. */
  transitions: BreakerTransition[];
};

export type BreakerTransition = {
  from: BreakerState;
  to: BreakerState;
  timestamp: Instant;
  failureCount: number;
  reason: string;
};

export type ModelCooldowns = {
  /** The longest remaining first. */
  items: ModelCooldown[];
};

/** A model, or the models that share its quota, that rests on one account. */
export type ModelCooldown = {
  provider: string;
  connectionId: string;
  /** The id where the connection is gone. */
  connectionName: string;
  model: string;
  reason: string;
  /** `family`, `model` or `exact`. */
  scope: string;
  remainingMs: number;
  failureCount: number;
  lockedAt: Instant;
  expiresAt: Instant;
  /** When one request is let through to see whether it ended early. */
  probeAt: Instant | null;
};

/** Which locks to end: `provider` and `model`, on one `connection` or on all of the provider; or `all`. */
export type ModelCooldownSelection = {
  provider?: string | null;
  connection?: string | null;
  model?: string | null;
  all?: boolean | null;
};

export type ModelCooldownsCleared = { ok: boolean; removed: number; clearedAll: boolean };

export type CooldownFilter = { provider?: string | null };

export type Cooldowns = {
  /** By provider, then priority. */
  connections: CooldownConnection[];
  generatedAt: Instant;
};

export type CooldownStatus = "terminal" | "cooling_down" | "model_locked" | "unavailable" | "healthy";

/** One account and what keeps it out of routing. */
export type CooldownConnection = {
  id: string;
  provider: string;
  name: string;
  authType: AuthType;
  priority: number;
  isActive: boolean;
  /** The strongest that holds. */
  status: CooldownStatus;
  testStatus: string;
  rateLimitedUntil: Instant | null;
  cooldownRemainingMs: number;
  backoffLevel: number;
  errorCode: number | null;
  lastError: string | null;
  lastErrorType: string | null;
  lastErrorAt: Instant | null;
  lockouts: Lockout[];
};

/** Which accounts to make eligible again: `connectionIds`, or `all`, of one `provider` or of every one. */
export type CooldownSelection = { connectionIds?: string[] | null; all?: boolean | null; provider?: string | null };

export type CooldownsCleared = {
  ok: boolean;
  cleared: number;
  unchanged: number;
  skippedTerminal: number;
  lockoutsCleared: number;
};

export type ExplainQuery = { model: string };

/** Where a request for a model would go now, and who would be left out. */
export type ResilienceExplanation = {
  model: string;
  provider: string;
  resolvedModel: string;
  /** Which rule resolved the name (gateway specification, 1.4). */
  rule: number;
  breaker: Breaker;
  /** Those that would be tried, in their order; then those left out. */
  candidates: CandidateExplanation[];
};

export type CandidateExplanation = {
  connectionId: string;
  connectionName: string;
  provider: string;
  model: string;
  available: boolean;
  /** What leaves it out; `null` when it is available, like everything below. */
  mechanism: string | null;
  reason: string | null;
  until: Instant | null;
  remainingMs: number | null;
  cause: ExclusionCause | null;
};

/** What the upstream said when it came to this. */
export type ExclusionCause = { status: number | null; message: string; at: Instant };

export type BannedSignal = { phrase: string };

/** What a phrase would have hit, had it been a ban signal. */
export type BannedSignalPreview = {
  /** Connections whose last error it occurs in. */
  matches: BannedSignalMatch[];
  /** Different errors of recent requests that it occurs in, the newest first; at most ten. */
  examples: string[];
};

export type BannedSignalMatch = {
  connectionId: string;
  connectionName: string;
  lastErrorAt: Instant;
  excerpt: string;
};
