// Types of the management operations: requests, replies and errors.

/** What is wrong with one member of a request. */
export type FieldProblem = { field: string; message: string };

export type ControlError = { code: string; message: string; details?: FieldProblem[] };

export type JsonValue = null | boolean | number | string | JsonValue[] | { [key in string]: JsonValue };

export type Done = { ok: boolean };

export type App = { name: string; version: string; dataDir: string; url: string; startedAt: string; secretStore: SecretStore; firstRunDone: boolean };

export type SecretStore = "keychain" | "file";

export type ManagementToken = { token: string };

export type AuthType = "oauth" | "apikey" | "none";

export type AuthCarrier = "bearer" | "x-api-key" | "x-goog-api-key" | "api-key" | "none";

export type Dialect = "chat" | "responses" | "messages" | "gemini";

export type ProviderClass = "oauth" | "apikey" | "local" | "free";

export type Scope = "lease:exclusive" | "self:usage" | "self:account-quota" | "policy:bypass-provider-quota" | "mcp:connect";

export type Mechanism = "switched_off" | "key_allow_list" | "excluded_model" | "credential_gate" | "request_exhaustion" | "concurrency_cap" | "dialect_mismatch";

export type CatalogProviders = { providers: CatalogProvider[] };

export type CatalogProvider = { id: string; alias: string; name: string; class: ProviderClass; dialect: Dialect; dialects: Dialect[]; authType: AuthType; passthroughModels: boolean; perModelQuota: boolean; baseUrl: string; keyUrl: string | null; keyHint: string | null; custom: boolean; models: number };

export type Connections = { connections: Connection[] };

export type ConnectionReply = { connection: Connection };

export type Connection = { id: string; provider: string; name: string; authType: AuthType; priority: number; isActive: boolean; email: string | null; displayName: string | null; defaultModel: string | null; hasCredential: boolean; credentialTail: string | null; tokenExpiresAt: string | null; scopes: string[] | null; testStatus: TestStatus; rateLimitedUntil: string | null; backoffLevel: number; lastError: string | null; lastErrorType: string | null; lastErrorSource: string | null; errorCode: number | null; lastErrorAt: string | null; expiredRetryCount: number; expiredRetryAt: string | null; consecutiveUseCount: number; lastUsedAt: string | null; maxConcurrent: number | null; rateLimitProtection: boolean; rateLimitOverrides: { [key in string]: JsonValue }; quotaWindowThresholds: { [key in string]: JsonValue }; excludedModels: string[]; proxyUrl: string | null; tags: string[]; providerSpecificData: { [key in string]: JsonValue }; createdAt: string; updatedAt: string };

export type TestStatus = "unknown" | "active" | "error";

export type ConnectionFilter = { provider?: string | null; class?: ProviderClass | null };

export type ConnectionDraft = { provider: string; name: string; apiKey?: string | null; authType?: AuthType | null; priority?: number | null; isActive?: boolean | null; defaultModel?: string | null; maxConcurrent?: number | null; excludedModels?: string[]; proxyUrl?: string | null; tags?: string[]; providerSpecificData?: { [key in string]: JsonValue } };

export type ConnectionChange = { updatedAt?: string | null; name?: string | null; apiKey?: string | null; authType?: AuthType | null; priority?: number | null; isActive?: boolean | null; defaultModel?: string | null; maxConcurrent?: number | null; excludedModels?: string[] | null; proxyUrl?: string | null; tags?: string[] | null; providerSpecificData?: { [key in string]: JsonValue } | null };

export type ConnectionDetail = { connection: Connection; lockouts: Lockout[]; breaker: Breaker; inFlight: number };

export type Lockout = { model: string; reason: string; scope: string; remainingMs: number; expiresAt: string };

export type Breaker = { state: BreakerState; failureCount: number; retryAfterMs: number };

export type BreakerState = "CLOSED" | "DEGRADED" | "OPEN" | "HALF_OPEN";

export type ConnectionTest = { model?: string | null };

export type ConnectionTestReply = { ok: boolean; status: number | null; latencyMs: number; model: string | null; error: ProbeProblem | null; connection: Connection };

export type ProbeProblem = { code: string; message: string };

export type BatchTest = { connectionIds?: string[] | null; provider?: string | null; all?: boolean | null };

export type BatchTestResults = { results: BatchTestResult[] };

export type BatchTestResult = { connectionId: string; ok: boolean; status: number | null; latencyMs: number; error: ProbeProblem | null };

export type ConnectionValidation = { ok: boolean; status: number | null; latencyMs: number; error: ProbeProblem | null };

export type ConnectionOrder = { provider: string; connectionIds: string[] };

export type ConnectionModelsQuery = { refresh?: boolean | null };

export type ConnectionModels = { models: ConnectionModel[]; fetchedAt: string | null };

export type ConnectionModel = { id: string; name: string; context: number | null; maxOutput: number | null; enabled: boolean; source: ModelSource };

export type ModelSource = "catalogue" | "live";

export type Nodes = { nodes: Node[] };

export type NodeReply = { node: Node };

export type Node = { id: string; name: string; prefix: string; apiType: Dialect; type: string; baseUrl: string; authCarrier: AuthCarrier; extraHeaders: { [key in string]: string }; modelsPath: string | null; allowPrivateNetwork: boolean; providerClass: ProviderClass; createdAt: string; updatedAt: string };

export type NodeDraft = { name: string; prefix: string; apiType: Dialect; type?: string | null; baseUrl: string; authCarrier?: AuthCarrier | null; extraHeaders?: { [key in string]: string }; modelsPath?: string | null; allowPrivateNetwork?: boolean; providerClass?: ProviderClass | null };

export type NodeChange = { updatedAt?: string | null; name?: string | null; baseUrl?: string | null; authCarrier?: AuthCarrier | null; extraHeaders?: { [key in string]: string } | null; modelsPath?: string | null; allowPrivateNetwork?: boolean | null; providerClass?: ProviderClass | null };

export type NodeTest = { apiKey?: string | null };

export type NodeTestReply = { ok: boolean; status: number | null; latencyMs: number; models: number | null; error: ProbeProblem | null };

export type Keys = { keys: Key[] };

export type KeyRecord = { record: Key };

export type KeySecret = { key: string; record: Key };

export type Key = { id: string; name: string; tail: string; isActive: boolean; scopes: Scope[]; allowedModels: string[]; allowedConnections: string[]; expiresAt: string | null; lastUsedAt: string | null; createdAt: string };

export type KeyDraft = { name: string; scopes?: Scope[]; allowedModels?: string[]; allowedConnections?: string[]; expiresAt?: string | null };

export type KeyChange = { name?: string | null; isActive?: boolean | null; scopes?: Scope[] | null; allowedModels?: string[] | null; allowedConnections?: string[] | null; expiresAt?: string | null };

export type Aliases = { aliases: Alias[] };

export type AliasReply = { alias: Alias };

export type Alias = { id: string; alias: string; target: string; createdAt: string };

export type AliasDraft = { alias: string; target: string };

export type AliasChange = { alias?: string | null; target?: string | null };

export type ModelFilter = { provider?: string | null };

export type Models = { models: Model[] };

export type Model = { provider: string; providerName: string; id: string; name: string; qualified: string; dialect: Dialect; context: number | null; maxOutput: number | null; supports: ModelSupports; efforts: string[]; price: ModelPrice | null; enabled: boolean };

export type ModelSupports = { tools: boolean | null; vision: boolean | null; reasoning: boolean | null; structuredOutput: boolean | null; audio: boolean | null };

export type ModelPrice = { input: number; output: number; cacheRead: number; cacheWrite: number };

export type Requests = { requests: RequestRow[]; nextCursor: string | null };

export type RequestOutcome = "success" | "failure" | "aborted";

export type RequestRow = { id: string; timestamp: string; method: string; path: string; sourceFormat: Dialect; targetFormat: Dialect | null; status: number; outcome: RequestOutcome; stream: boolean; requestedModel: string; provider: string | null; model: string | null; connectionId: string | null; connectionName: string | null; comboName: string | null; strategy: string | null; keyId: string | null; keyName: string | null; agent: string | null; attempts: number; durationMs: number; ttftMs: number | null; tokensInput: number | null; tokensOutput: number | null; tokensCacheRead: number | null; tokensCacheCreation: number | null; tokensReasoning: number | null; estimated: boolean; cost: number | null; errorCode: string | null; errorSummary: string | null; sessionTag: string | null };

export type RequestFilter = { limit?: number | null; cursor?: string | null; status?: number | null; outcome?: RequestOutcome | null; provider?: string | null; model?: string | null; connectionId?: string | null; keyId?: string | null; session?: string | null; since?: string | null; until?: string | null; text?: string | null };

export type RequestDetail = RequestRow & { trace: RequestTrace };

export type RequestTrace = { rule: number | null; order: string[]; attempts: RequestAttempt[]; exclusions: RequestExclusion[]; changes: string[] };

export type RequestAttempt = { n: number; provider: string; model: string; connectionId: string; connectionName: string; startedAt: string; queuedMs: number; connectMs: number | null; firstTokenMs: number | null; durationMs: number; status: number | null; kind: string; decision: string; waitMs: number; message: string | null };

export type RequestExclusion = { provider: string; model: string; connectionId: string | null; connectionName: string | null; mechanism: Mechanism; reason: string; until: string | null };

export type RequestsDeletion = { all?: boolean | null; before?: string | null };

export type RequestsDeleted = { deleted: number };

export type UsageGroupBy = "day" | "provider" | "model" | "key" | "connection";

export type UsageQuery = { since?: string | null; until?: string | null; groupBy?: UsageGroupBy | null };

export type UsageSummary = { since: string; until: string; groups: UsageGroup[]; totals: UsageGroup };

export type UsageGroup = { group: string | null; name: string | null; requests: number; successes: number; failures: number; aborted: number; tokensInput: number; tokensOutput: number; tokensCacheRead: number; tokensCacheCreation: number; tokensReasoning: number; cost: number };

export type SettingSource = "default" | "environment" | "stored";

export type SettingsTree = { sources: { [key in string]: SettingSource } } & { [key in string]: JsonValue };

export type SettingsPatch = { [key in string]: JsonValue };

export type SettingFields = { fields: SettingField[] };

export type SettingField = { path: string; kind: string; unit: string | null; min: number | null; max: number | null; choices: string[]; default: JsonValue; env: string | null; environment: JsonValue | null; value: JsonValue; source: SettingSource; help: string };

export type HealthStatus = "healthy" | "degraded";

export type Health = { status: HealthStatus; timestamp: string; version: string; uptime: number; activeConnections: number; system: SystemStatus; circuitBreakers: BreakerCounts; providerBreakers: ProviderBreaker[]; providerSummary: ProviderSummary; connectionHealth: ConnectionCounts; rateLimitStatus: { [key in string]: RateLimitStatus }; lockouts: Lockout[]; store: StoreHealth; setupComplete: boolean };

export type SystemStatus = { version: string; uptime: number; pid: number; platform: string };

export type BreakerCounts = { open: number; halfOpen: number; degraded: number; closed: number; total: number };

export type ProviderBreaker = { provider: string; state: BreakerState; failureCount: number; lastFailure: string | null; retryAfterMs: number };

export type ProviderSummary = { catalogCount: number; configuredCount: number; activeCount: number };

export type ConnectionCounts = { total: number; ready: number; failing: number; switchedOff: number; withoutCredential: number };

export type RateLimitStatus = { queued: number; running: number };

export type StoreHealth = { healthy: boolean; dropped: number };

export type Topic = "connections" | "cooldowns" | "breakers" | "lockouts" | "settings" | "requests" | "usage" | "quota" | "combos" | "keys" | "sessions";

export type Changed = { topics: Topic[]; at: string };

export type Live = { inFlight: number; queued: number; tokensPerSecond: number; requestsPerMinute: number };
