/**
 * The operations of resilience as the gateway will offer them, in the form of `bindings.ts`. To be removed as soon as the
 * generated bindings hold them.
 */
import type { AuthType, BreakerState, ControlError, Done, Instant } from "./bindings";

type Reply<T> = Promise<{ status: "ok"; data: T } | { status: "error"; error: ControlError }>;

export type PendingCommands = {
  breakers_list: () => Reply<Breakers>;
  breaker_reset: (provider: string) => Reply<Done>;
  resilience_reset: () => Reply<BreakersReset>;
  model_cooldowns_list: () => Reply<ModelCooldowns>;
  model_cooldowns_clear: (input: ModelCooldownChoice) => Reply<Done>;
  cooldowns_list: (input: CooldownFilter) => Reply<Cooldowns>;
  cooldowns_clear: (input: CooldownChoice) => Reply<CooldownsCleared>;
  resilience_explain: (input: ExplainQuery) => Reply<Explanation>;
  banned_signals_preview: (input: SignalPhrase) => Reply<SignalPreview>;
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
    topics: ["breakers", "connections"],
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
    topics: ["connections", "cooldowns", "breakers", "lockouts", "combos", "settings"],
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
    path: "/api/resilience/breakers/{provider}/reset",
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

export type BreakersReset = { ok: boolean; resetCount: number; message: string };

export type Breakers = { breakers: ProviderBreakerDetail[] };

export type ProviderBreakerDetail = {
  provider: string;
  providerName: string;
  state: BreakerState;
  failureCount: number;
  failureThreshold: number;
  degradationThreshold: number;
  /** Failed probes since the last recovery. */
  openCycles: number;
  lastFailure: Instant | null;
  retryAfterMs: number;
  /** Whether the one probe of the half-open state is under way. */
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

export type ModelCooldowns = { items: ModelCooldown[] };

export type ModelCooldown = {
  provider: string;
  connectionId: string;
  connectionName: string;
  /** The model, or the name of a quota family. */
  model: string;
  reason: string;
  /** `family`, `model` or `exact`. */
  scope: string;
  remainingMs: number;
  failureCount: number;
  lockedAt: Instant;
  expiresAt: Instant;
  probeAt?: Instant | null;
};

/** All of them, or one model: on one connection, or on every one of the provider. */
export type ModelCooldownChoice = {
  all?: boolean | null;
  provider?: string | null;
  connection?: string | null;
  model?: string | null;
};

export type CooldownFilter = { provider?: string | null };

export type Cooldowns = { connections: CooldownRow[]; generatedAt: Instant };

export type CooldownStatus = "terminal" | "cooling_down" | "model_locked" | "unavailable" | "healthy";

export type CooldownRow = {
  id: string;
  provider: string;
  name: string;
  authType: AuthType;
  priority: number;
  isActive: boolean;
  status: CooldownStatus;
  testStatus: string;
  rateLimitedUntil: Instant | null;
  cooldownRemainingMs: number;
  backoffLevel: number;
  errorCode: number | null;
  lastError: string | null;
  lastErrorType: string | null;
  lastErrorAt: Instant | null;
  lockouts: { model: string; reason: string; remainingMs: number; expiresAt: Instant }[];
};

/** These connections; or all, of one provider or of every one. */
export type CooldownChoice = { connectionIds?: string[] | null; all?: boolean | null; provider?: string | null };

export type CooldownsCleared = {
  ok: boolean;
  cleared: number;
  unchanged: number;
  skippedTerminal: number;
  lockoutsCleared: number;
};

export type ExplainQuery = { model: string };

export type Explanation = {
  model: string;
  provider: string | null;
  resolvedModel: string | null;
  /** Which rule of gateway specification 1.4 resolved the name. */
  rule: number | null;
  breaker: { state: BreakerState; retryAfterMs: number } | null;
  /** In the order in which they would be asked. */
  candidates: Candidate[];
};

export type Candidate = {
  connectionId: string;
  connectionName: string;
  provider: string;
  model: string;
  available: boolean;
  mechanism: string | null;
  reason: string | null;
  until: Instant | null;
  remainingMs: number | null;
  cause?: { status: number | null; message: string; at: Instant } | null;
};

export type SignalPhrase = { phrase: string };

export type SignalPreview = {
  /** How many of the errors on record contain it. */
  matches: number;
  examples: string[];
};
