/** Records of what is spared and locked, as the gateway sends them. */
import type {
  BreakerDetail,
  ConnectionOutlook,
  CooldownConnection,
  ExclusionExplanation,
  Health,
  HealthHistory,
  ModelCooldown,
  ResilienceExplanation,
  SettingField,
  Value,
} from "@/bindings";
import { type Answers, refuse } from "./fake-host";

export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

export function cooldownRow(id: string, part: Partial<CooldownConnection> = {}): CooldownConnection {
  return {
    id,
    provider: "anthropic",
    name: id,
    authType: "apikey",
    priority: 1,
    isActive: true,
    status: "healthy",
    testStatus: "active",
    rateLimitedUntil: null,
    cooldownRemainingMs: 0,
    backoffLevel: 0,
    errorCode: null,
    lastError: null,
    lastErrorType: null,
    lastErrorAt: null,
    lockouts: [],
    ...part,
  };
}

export function modelCooldown(model: string, part: Partial<ModelCooldown> = {}): ModelCooldown {
  return {
    provider: "anthropic",
    connectionId: "c1",
    connectionName: "Work",
    model,
    reason: "rate_limit",
    scope: "model",
    remainingMs: 120_000,
    failureCount: 1,
    lockedAt: inSeconds(-10),
    expiresAt: inSeconds(120),
    probeAt: null,
    ...part,
  };
}

export function breaker(provider: string, part: Partial<BreakerDetail> = {}): BreakerDetail {
  return {
    provider,
    providerName: provider,
    state: "CLOSED",
    failureCount: 0,
    failureThreshold: 12,
    degradationThreshold: 7,
    openCycles: 0,
    lastFailure: null,
    retryAfterMs: 0,
    probing: false,
    transitions: [],
    ...part,
  };
}

/** An account that would be tried. */
export function outlook(id: string, part: Partial<ConnectionOutlook> = {}): ConnectionOutlook {
  return { connectionId: id, connectionName: id, available: true, exclusion: null, ...part };
}

/** An account that is left out. */
export function leftOut(id: string, connectionName: string, exclusion: ExclusionExplanation): ConnectionOutlook {
  return outlook(id, { connectionName, available: false, exclusion });
}

export function explanation(
  connections: ConnectionOutlook[],
  answer: ResilienceExplanation["answer"] = null,
): ResilienceExplanation {
  const spokesman = connections.find(({ available }) => available) ?? connections[0];
  return {
    route: { kind: "direct", rule: 7, name: "anthropic/claude-sonnet-4-6", strategy: "single" },
    targets: [
      {
        position: 1,
        executionKey: "anthropic/claude-sonnet-4-6",
        provider: "anthropic",
        model: "claude-sonnet-4-6",
        connectionId: spokesman?.connectionId ?? null,
        available: spokesman?.available ?? false,
        exclusion: spokesman?.exclusion ?? null,
        connections,
        score: null,
        factors: null,
        breaker: { state: "CLOSED", failureCount: 0, retryAfterMs: 0 },
      },
    ],
    answer,
  };
}

export const health: Health = {
  status: "healthy",
  timestamp: new Date().toISOString(),
  version: "0.1.0",
  uptime: 7_500,
  memoryUsage: { rss: 48_000_000 },
  activeConnections: 2,
  system: { version: "0.1.0", uptime: 7_500, memoryUsage: { rss: 48_000_000 }, pid: 4711, platform: "linux" },
  circuitBreakers: { open: 0, halfOpen: 0, degraded: 0, closed: 0, total: 0 },
  providerBreakers: [],
  providerHealth: {},
  providerSummary: { catalogCount: 20, configuredCount: 2, activeCount: 2, monitoredCount: 2 },
  connectionHealth: { total: 4, ready: 3, failing: 0, switchedOff: 1, withoutCredential: 0 },
  rateLimitStatus: {},
  credentialHealth: {},
  lockouts: [],
  store: { healthy: true, dropped: 0 },
  setupComplete: true,
};

/** An hour without a request. */
export const quiet: HealthHistory = {
  since: inSeconds(-3_600),
  until: inSeconds(0),
  stretchMs: 60_000,
  stretches: [],
};

function field(path: string, kind: string, byDefault: Value, part: Partial<SettingField> = {}): SettingField {
  return {
    path: path.includes(".") ? `resilienceSettings.${path}` : path,
    kind,
    unit: kind === "duration" ? "ms" : null,
    min: null,
    max: null,
    choices: [],
    default: byDefault,
    env: null,
    environment: null,
    value: byDefault,
    source: "default",
    help: "",
    ...part,
  };
}

const cooldownOf = (name: string, base: number, hints: boolean, steps: number) => [
  field(`connectionCooldown.${name}.baseCooldownMs`, "duration", base, { min: 0, max: 86_400_000 }),
  field(`connectionCooldown.${name}.useUpstreamRetryHints`, "boolean", hints),
  field(`connectionCooldown.${name}.useUpstream429BreakerHints`, "boolean", null),
  field(`connectionCooldown.${name}.maxBackoffSteps`, "integer", steps, { min: 0, max: 32 }),
];
const breakerOf = (name: string, open: number, degraded: number, reset: number, stretch: number) => [
  field(`providerBreaker.${name}.failureThreshold`, "integer", open, { min: 1, max: 1_000 }),
  field(`providerBreaker.${name}.degradationThreshold`, "integer", degraded, { min: 1, max: 999 }),
  field(`providerBreaker.${name}.resetTimeoutMs`, "duration", reset, { min: 1_000, max: 86_400_000 }),
  field(`providerBreaker.${name}.maxBackoffMultiplier`, "integer", stretch, { min: 1, max: 64 }),
  field(`providerBreaker.${name}.backoffEscalationCount`, "integer", 3, { min: 0, max: 32 }),
];
const windowOf = (name: string, failures: number, span: number, rest: number) => [
  field(`providerCooldown.${name}.failureThreshold`, "integer", failures, { min: 1, max: 200 }),
  field(`providerCooldown.${name}.failureWindowMs`, "duration", span, { min: 1_000, max: 86_400_000 }),
  field(`providerCooldown.${name}.cooldownMs`, "duration", rest, { min: 1_000, max: 86_400_000 }),
];

/** The settings of resilience in the order in which the gateway declares them. */
export const resilienceFields: readonly SettingField[] = [
  ...breakerOf("oauth", 8, 5, 60_000, 8),
  ...breakerOf("apikey", 12, 7, 30_000, 4),
  ...breakerOf("local", 2, 1, 15_000, 16),
  ...cooldownOf("oauth", 5_000, false, 8),
  ...cooldownOf("apikey", 3_000, true, 5),
  ...cooldownOf("local", 5_000, true, 5),
  field("modelLockout.enabled", "boolean", false),
  field("modelLockout.errorCodes", "list", [403, 404, 429, 502, 503, 504], { min: 100, max: 599 }),
  field("modelLockout.baseCooldownMs", "duration", 120_000, { min: 5_000, max: 600_000 }),
  field("modelLockout.maxCooldownMs", "duration", 1_800_000, { min: 5_000, max: 3_600_000 }),
  field("modelLockout.maxBackoffSteps", "integer", 10, { min: 0, max: 20 }),
  field("modelLockout.useExponentialBackoff", "boolean", true),
  field("modelLockout.persist", "boolean", true),
  field("providerCooldown.enabled", "boolean", false, { env: "PROVIDER_COOLDOWN_ENABLED" }),
  field("providerCooldown.minRetryCooldownMs", "duration", 5_000, { min: 0, max: 300_000 }),
  field("providerCooldown.maxRetryCooldownMs", "duration", 300_000, { min: 0, max: 3_600_000 }),
  ...windowOf("oauth", 10, 900_000, 300_000),
  ...windowOf("apikey", 15, 1_800_000, 600_000),
  ...windowOf("local", 2, 300_000, 60_000),
  field("waitForCooldown.enabled", "boolean", true),
  field("waitForCooldown.maxRetries", "integer", 5, { min: 0, max: 10 }),
  field("waitForCooldown.maxRetryWaitSec", "integer", 90, { min: 0, max: 300 }),
  field("comboCooldownWait.enabled", "boolean", true),
  field("comboCooldownWait.maxWaitMs", "duration", 90_000, { min: 0, max: 300_000 }),
  field("comboCooldownWait.maxAttempts", "integer", 5, { min: 0, max: 10 }),
  field("comboCooldownWait.budgetMs", "duration", 300_000, { min: 0, max: 300_000 }),
  field("streamStallCooldown.enabled", "boolean", false),
  field("requestQueue.autoEnableApiKeyProviders", "boolean", false, { env: "RATE_LIMIT_AUTO_ENABLE" }),
  field("requestQueue.requestsPerMinute", "integer", 60, { min: 1, max: 1_000_000 }),
  field("requestQueue.minTimeBetweenRequestsMs", "duration", 350, { min: 0, max: 3_600_000 }),
  field("requestQueue.concurrentRequests", "integer", 6, { min: 1, max: 10_000 }),
  field("requestQueue.globalConcurrentRequests", "integer", 0, { min: 0, max: 100_000 }),
  field("requestQueue.maxWaitMs", "duration", 30_000, { min: 1, max: 86_400_000, env: "RATE_LIMIT_MAX_WAIT_MS" }),
  field("requestQueue.executionMaxWaitMs", "duration", 600_000, { min: 1, max: 86_400_000 }),
  field("requestQueue.maxQueueDepth", "integer", 0, { min: 0, max: 100_000 }),
  field("quotaShareConcurrencyLimit.enabled", "boolean", true),
  field("quotaPreflight.enabled", "boolean", false, { env: "QUOTA_PREFLIGHT_CUTOFF_ENABLED" }),
  field("quotaPreflight.defaultThresholdPercent", "integer", 2, { min: 0, max: 100 }),
  field("quotaPreflight.warnThresholdPercent", "integer", 20, { min: 0, max: 100 }),
  field("quotaPreflight.providerWindowDefaults", "table", {}),
  field("customBannedSignals", "list", []),
  field("autoDisableBannedAccounts", "boolean", false),
  field("providerErrorRules", "table", {}),
];

type Spared = {
  rows: CooldownConnection[];
  locks: ModelCooldown[];
  breakers: BreakerDetail[];
  explanations: ResilienceExplanation[];
  fields: readonly SettingField[];
};

/** A gateway that spares and locks these, which changes of the window really change. */
export function resilienceWorld(part: Partial<Spared> = {}): Answers {
  const state: Spared = { rows: [], locks: [], breakers: [], explanations: [], fields: resilienceFields, ...part };
  return {
    health_get: () => health,
    health_history: () => quiet,
    breakers_list: () => ({ breakers: state.breakers }),
    breaker_reset: ({ id }) => {
      state.breakers = state.breakers.map((b) => (b.provider === id ? breaker(id) : b));
      return { ok: true, resetCount: 1, lockoutsCleared: 0, message: "" };
    },
    resilience_reset: () => {
      const resetCount = state.breakers.length;
      state.breakers = state.breakers.map(({ provider }) => breaker(provider));
      return { ok: true, resetCount, lockoutsCleared: 0, message: "" };
    },
    model_cooldowns_list: () => ({ items: state.locks }),
    model_cooldowns_clear: ({ all, connection, model }) => {
      const before = state.locks.length;
      state.locks = all ? [] : state.locks.filter((l) => l.connectionId !== connection || l.model !== model);
      return { ok: true, removed: before - state.locks.length, clearedAll: all === true };
    },
    cooldowns_list: () => ({ connections: state.rows, generatedAt: new Date().toISOString() }),
    cooldowns_clear: ({ connectionIds, all, provider }) => {
      const meant = (row: CooldownConnection) =>
        all ? !provider || row.provider === provider : (connectionIds ?? []).includes(row.id);
      const rows = state.rows.filter(meant);
      const terminal = rows.filter(({ status }) => status === "terminal");
      state.rows = state.rows.map((row) =>
        meant(row) && row.status !== "terminal" ? cooldownRow(row.id, { name: row.name, provider: row.provider }) : row,
      );
      return {
        ok: true,
        cleared: rows.length - terminal.length,
        unchanged: 0,
        skippedTerminal: terminal.length,
        lockoutsCleared: rows.reduce((sum, { lockouts }) => sum + lockouts.length, 0),
      };
    },
    resilience_explain: ({ model }) =>
      state.explanations.find(({ route }) => route.name === model) ?? refuse({ code: "not_found" }),
    banned_signals_preview: ({ phrase }) =>
      phrase.includes("limit")
        ? {
            matches: [
              { connectionId: "c1", connectionName: "Work", lastErrorAt: inSeconds(-60), excerpt: "429 rate limit" },
            ],
            examples: ["rate limit exceeded, try again later", "your monthly limit is reached"],
          }
        : { matches: [], examples: [] },
    settings_fields: () => ({ fields: [...state.fields] }),
    settings_update: (patch) => {
      state.fields = state.fields.map((f) => {
        const value = at(patch, f.path);
        if (value === undefined) return f;
        return value === null ? { ...f, value: f.default, source: "default" } : { ...f, value, source: "stored" };
      });
      return { sources: {} };
    },
  };
}

function at(tree: Value, path: string): Value | undefined {
  return path
    .split(".")
    .reduce<Value | undefined>(
      (node, name) => (typeof node === "object" && node !== null && !Array.isArray(node) ? node[name] : undefined),
      tree,
    );
}
