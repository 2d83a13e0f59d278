/** Records as the gateway sends them, with what a test does not care about filled in. */
import type {
  Alias,
  App,
  CatalogProvider,
  Connection,
  Key,
  Model,
  RequestAttempt,
  RequestDetail,
  RequestRow,
  RequestTrace,
  SettingField,
  UnderwayRequest,
} from "@/bindings";
import { type Answers, refuse } from "./fake-host";

export const app: App = {
  name: "OmniRoute",
  version: "0.1.0",
  dataDir: "/home/ada/.local/share/app.omniroute.desktop",
  url: "http://127.0.0.1:20128",
  startedAt: new Date(Date.now() - 60_000).toISOString(),
  secretStore: "file",
  firstRunDone: true,
};

export function provider(id: string, part: Partial<CatalogProvider> = {}): CatalogProvider {
  return {
    id,
    alias: id,
    name: id,
    class: "apikey",
    dialect: "chat",
    dialects: ["chat"],
    authType: "apikey",
    passthroughModels: false,
    perModelQuota: false,
    baseUrl: `https://api.${id}.example/v1`,
    keyUrl: null,
    keyHint: null,
    custom: false,
    models: 1,
    ...part,
  };
}

export const anthropic = provider("anthropic", { name: "Anthropic", dialect: "messages", dialects: ["messages"] });
export const ollama = provider("ollama", {
  name: "Ollama",
  class: "local",
  authType: "none",
  baseUrl: "http://127.0.0.1:11434/v1",
});

export function connection(id: string, part: Partial<Connection> = {}): Connection {
  return {
    id,
    provider: "anthropic",
    name: id,
    authType: "apikey",
    priority: 1,
    isActive: true,
    email: null,
    displayName: null,
    defaultModel: null,
    hasCredential: true,
    credentialTail: "x7Qa",
    tokenExpiresAt: null,
    scopes: null,
    testStatus: "active",
    rateLimitedUntil: null,
    backoffLevel: 0,
    lastError: null,
    lastErrorType: null,
    lastErrorSource: null,
    errorCode: null,
    lastErrorAt: null,
    expiredRetryCount: 0,
    expiredRetryAt: null,
    consecutiveUseCount: 0,
    lastUsedAt: null,
    maxConcurrent: null,
    rateLimitProtection: false,
    rateLimitOverrides: {
      rpm: null,
      tpm: null,
      tpd: null,
      minTime: null,
      maxConcurrent: null,
      maxWaitMs: null,
      executionMaxWaitMs: null,
      modelConcurrency: {},
    },
    quotaWindowThresholds: {},
    excludedModels: [],
    proxyUrl: null,
    tags: [],
    providerSpecificData: {},
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    ...part,
  };
}

export function model(provider: string, id: string): Model {
  return {
    provider,
    providerName: provider,
    id,
    name: id,
    qualified: `${provider}/${id}`,
    dialect: "chat",
    context: null,
    maxOutput: null,
    supports: { tools: null, vision: null, reasoning: null, structuredOutput: null, audio: null },
    efforts: [],
    price: null,
    enabled: true,
  };
}

export function request(id: string, part: Partial<RequestRow> = {}): RequestRow {
  return {
    id,
    timestamp: new Date().toISOString(),
    method: "POST",
    path: "/v1/messages",
    sourceFormat: "messages",
    targetFormat: "messages",
    status: 200,
    outcome: "success",
    stream: true,
    requestedModel: "anthropic/claude-sonnet-4-6",
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    connectionId: "c1",
    connectionName: "Work",
    comboName: null,
    strategy: null,
    keyId: "k1",
    keyName: "Local agents",
    agent: "claude-cli",
    attempts: 1,
    durationMs: 1_240,
    ttftMs: 410,
    tokensInput: 1_200,
    tokensOutput: 80,
    tokensCacheRead: null,
    tokensCacheCreation: null,
    tokensReasoning: null,
    estimated: false,
    cost: null,
    errorCode: null,
    errorSummary: null,
    sessionTag: null,
    ...part,
  };
}

export function underway(id: string, part: Partial<UnderwayRequest> = {}): UnderwayRequest {
  const arrived = new Date(Date.now() - 12_000).toISOString();
  return {
    id,
    timestamp: arrived,
    requestedModel: "anthropic/claude-sonnet-4-6",
    agent: "claude-cli",
    keyName: "Local agents",
    comboName: null,
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    connectionId: "c1",
    connectionName: "Work",
    attempts: 1,
    stage: "asking",
    since: arrived,
    until: null,
    ...part,
  };
}

export function attempt(n: number, part: Partial<RequestAttempt> = {}): RequestAttempt {
  return {
    n,
    executionKey: null,
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    connectionId: `c${n}`,
    connectionName: `Account ${n}`,
    startedAt: new Date().toISOString(),
    queuedMs: 0,
    connectMs: 120,
    firstTokenMs: 410,
    durationMs: 1_240,
    status: 200,
    kind: "success",
    decision: "answer",
    message: null,
    tokensInput: null,
    tokensOutput: null,
    cost: null,
    ...part,
  };
}

export function detail(row: RequestRow, trace: Partial<RequestTrace> = {}): RequestDetail {
  const story = { rule: 7, order: [], attempts: [attempt(1)], exclusions: [], changes: [], ...trace };
  return { ...row, trace: story, requestBody: null, responseBody: null };
}

export function key(id: string, part: Partial<Key> = {}): Key {
  return {
    id,
    name: id,
    tail: "k3Vw",
    isActive: true,
    scopes: [],
    allowedModels: [],
    allowedCombos: [],
    allowedConnections: [],
    preferredConnections: [],
    excludedAutoCandidates: {},
    budgetDailyUsd: null,
    budgetWeeklyUsd: null,
    budgetMonthlyUsd: null,
    warningThreshold: 0.8,
    resetInterval: "daily",
    resetTime: "00:00",
    tokenLimits: [],
    limitUse: [],
    expiresAt: null,
    lastUsedAt: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    ...part,
  };
}

export const portField: SettingField = {
  path: "gateway.port",
  kind: "integer",
  unit: null,
  min: 1024,
  max: 65535,
  choices: [],
  default: 20128,
  env: "OMNIROUTE_PORT",
  value: 20128,
  source: "default",
  environment: null,
  help: "",
};

type World = {
  providers: CatalogProvider[];
  connections: Connection[];
  requests: RequestRow[];
  details: RequestDetail[];
  keys: Key[];
  aliases: Alias[];
  models: Model[];
  fields: SettingField[];
};

/** A gateway with these records in it, which changes of the window really change. */
export function world(part: Partial<World> = {}): Answers {
  const state: World = {
    providers: [anthropic, ollama],
    connections: [],
    requests: [],
    details: [],
    keys: [],
    aliases: [],
    models: [],
    fields: [portField],
    ...part,
  };
  const deleted = new Map<string, Connection>();
  const find = (id: string) => state.connections.find((candidate) => candidate.id === id) as Connection;
  return {
    app_get: () => app,
    catalog_providers: () => ({ providers: state.providers }),
    connections_list: (input) => ({
      connections: state.connections.filter((c) => !input.provider || c.provider === input.provider),
    }),
    connection_get: ({ id }) => ({
      connection: find(id),
      lockouts: [],
      breaker: { state: "CLOSED", failureCount: 0, retryAfterMs: 0 },
      inFlight: 0,
    }),
    connection_models: () => ({
      models: [
        { id: "claude-sonnet-4-6", name: "", context: null, maxOutput: null, enabled: true, source: "catalogue" },
      ],
      fetchedAt: null,
    }),
    connection_validate: () => ({ ok: true, status: 200, latencyMs: 300, error: null }),
    connection_create: (input) => {
      const made = connection(`c${state.connections.length + 1}`, { provider: input.provider, name: input.name });
      state.connections = [...state.connections, made];
      return { connection: made };
    },
    connection_update: ({ id, rateLimitOverrides, ...change }) => {
      state.connections = state.connections.map((c) =>
        c.id === id
          ? ({ ...c, ...change, rateLimitOverrides: { ...c.rateLimitOverrides, ...rateLimitOverrides } } as Connection)
          : c,
      );
      return { connection: find(id) };
    },
    connection_delete: ({ id }) => {
      deleted.set(id, find(id));
      state.connections = state.connections.filter((c) => c.id !== id);
      return { ok: true };
    },
    connection_restore: ({ id }) => {
      const back = deleted.get(id) as Connection;
      state.connections = [...state.connections, back];
      return { connection: back };
    },
    connections_order: ({ connectionIds }) => {
      state.connections = connectionIds.map(find);
      return { connections: state.connections };
    },
    keys_list: () => ({ keys: state.keys }),
    key_create: (draft) => {
      const made = key(`k${state.keys.length + 1}`, { ...draft, tail: "Qm4c" } as Partial<Key>);
      state.keys = [...state.keys, made];
      return { key: "sk-omni-a-key-shown-once-Qm4c", record: made };
    },
    key_update: ({ id, ...change }) => {
      state.keys = state.keys.map((k) => (k.id === id ? ({ ...k, ...change } as Key) : k));
      return { record: state.keys.find((k) => k.id === id) as Key };
    },
    key_rotate: ({ id }) => {
      state.keys = state.keys.map((k) => (k.id === id ? { ...k, tail: "Zz9x" } : k));
      return { key: "sk-omni-a-new-text-Zz9x", record: state.keys.find((k) => k.id === id) as Key };
    },
    key_delete: ({ id }) => {
      state.keys = state.keys.filter((k) => k.id !== id);
      return { ok: true };
    },
    aliases_list: () => ({ aliases: state.aliases }),
    alias_create: (draft) => {
      const made = { id: `a${state.aliases.length + 1}`, createdAt: "2026-01-01T00:00:00.000Z", ...draft };
      state.aliases = [...state.aliases, made];
      return { alias: made };
    },
    alias_delete: ({ id }) => {
      state.aliases = state.aliases.filter((a) => a.id !== id);
      return { ok: true };
    },
    models_list: () => ({ models: state.models }),
    request_get: ({ id }) => state.details.find((d) => d.id === id) ?? refuse({ code: "not_found" }),
    requests_delete: () => {
      const deleted = state.requests.length;
      state.requests = [];
      return { deleted };
    },
    management_token_get: () => ({ token: "omt_a-token" }),
    management_token_rotate: () => ({ token: "omt_another" }),
    requests_list: ({ since, limit, cursor, outcome, provider, combo, text }) => {
      const from = Number(cursor ?? 0);
      const to = from + (limit ?? 100);
      const found = state.requests.filter(
        (r) =>
          (!since || r.timestamp >= since) &&
          (!outcome || r.outcome === outcome) &&
          (!provider || r.provider === provider) &&
          (!combo || r.comboName === combo) &&
          (!text || r.requestedModel.includes(text)),
      );
      return { requests: found.slice(from, to), nextCursor: found.length > to ? String(to) : null };
    },
    settings_fields: () => ({ fields: state.fields }),
  };
}
