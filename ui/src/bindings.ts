// View types of the operations, one per reply or request body of the management API.

export type AppView = { name: string; version: string; dataDir: string; url: string; startedAt: string; secretStore: SecretStoreKind; firstRunDone: boolean };

export type SecretStoreKind = "keychain" | "file";

export type Done = { ok: boolean };

export type ProviderClass = "oauth" | "apikey" | "local" | "free";

export type AuthType = "oauth" | "apikey" | "none";

export type Dialect = "chat" | "responses" | "messages" | "gemini";

export type AuthCarrier = "bearer" | "x-api-key" | "x-goog-api-key" | "api-key" | "none";

export type CatalogProvider = { id: string; alias: string; name: string; class: ProviderClass; dialect: Dialect; dialects: Dialect[]; authType: AuthType; passthroughModels: boolean; perModelQuota: boolean; baseUrl: string; keyUrl: string | null; keyHint: string | null; custom: boolean };

export type CatalogProviderList = { providers: CatalogProvider[] };

export type TestStatus = "active" | "unavailable" | "banned" | "expired" | "credits_exhausted" | "deactivated" | "unknown";

export type RateLimitOverrides = { rpm: number | null; tpm: number | null; tpd: number | null; minTime: number | null; maxConcurrent: number | null; maxWaitMs: number | null; executionMaxWaitMs: number | null; modelConcurrency: { [key in string]: number } };

export type ProviderSpecificData = { baseUrl?: string | null; allowPrivateNetwork?: boolean | null; passthroughModels?: boolean | null; disableCooling?: boolean | null };

export type Connection = { id: string; provider: string; name: string; authType: AuthType; priority: number; isActive: boolean; email: string | null; displayName: string | null; defaultModel: string | null; hasCredential: boolean; credentialTail: string | null; tokenExpiresAt: string | null; testStatus: TestStatus; rateLimitedUntil: string | null; backoffLevel: number; lastError: string | null; lastErrorType: string | null; lastErrorSource: string | null; errorCode: string | null; lastErrorAt: string | null; expiredRetryCount: number; expiredRetryAt: string | null; consecutiveUseCount: number; lastUsedAt: string | null; maxConcurrent: number | null; rateLimitProtection: boolean; rateLimitOverrides: RateLimitOverrides; quotaWindowThresholds: { [key in string]: number }; excludedModels: string[]; proxyUrl: string | null; tags: string[]; providerSpecificData: ProviderSpecificData; createdAt: string; updatedAt: string };

export type ConnectionList = { connections: Connection[] };

export type ConnectionReply = { connection: Connection };

export type LockoutView = { model: string; reason: string; scope: string; remainingMs: number; expiresAt: string };

export type BreakerState = "CLOSED" | "DEGRADED" | "OPEN" | "HALF_OPEN";

export type BreakerView = { state: BreakerState; failureCount: number; retryAfterMs: number | null };

export type ConnectionDetail = { connection: Connection; lockouts: LockoutView[]; breaker: BreakerView; inFlight: number };

export type ConnectionCreate = { provider: string; name: string; apiKey?: string | null; authType?: AuthType | null; priority?: number | null; isActive?: boolean | null; defaultModel?: string | null; maxConcurrent?: number | null; excludedModels?: string[] | null; proxyUrl?: string | null; tags?: string[] | null; providerSpecificData?: ProviderSpecificData | null };

export type ConnectionChange = { name?: string; apiKey?: string; priority?: number; isActive?: boolean; defaultModel?: string | null; maxConcurrent?: number | null; excludedModels?: string[]; proxyUrl?: string | null; tags?: string[]; providerSpecificData?: ProviderSpecificData; updatedAt?: string };

export type ProbeCode = "dns" | "refused" | "tls" | "timeout" | "unauthorized" | "forbidden" | "wrong_path" | "wrong_dialect" | "no_models" | "model_not_found" | "rate_limited" | "server_error" | "address_refused";

export type ProbeError = { code: string; message: string };

export type ConnectionTestReport = { ok: boolean; status: number | null; latencyMs: number; model: string | null; error: ProbeError | null; connection: Connection };

export type ConnectionTestRow = { connectionId: string; ok: boolean; status: number | null; latencyMs: number; error: ProbeError | null };

export type ConnectionTestRows = { results: ConnectionTestRow[] };

export type ConnectionTestSelection = { connectionIds?: string[]; provider?: string; all?: boolean };

export type CredentialCheck = { ok: boolean; status: number | null; error: ProbeError | null };

export type ConnectionModel = { id: string; name: string; context: number | null; maxOutput: number | null; enabled: boolean; source: "catalogue" | "live" };

export type ConnectionModelList = { models: ConnectionModel[]; fetchedAt: string | null };

export type NodeType = "openai-compatible" | "anthropic-compatible" | "gemini-compatible";

export type CustomNode = { id: string; name: string; prefix: string; apiType: Dialect; baseUrl: string; authCarrier: AuthCarrier; extraHeaders: { [key in string]: string }; modelsPath: string | null; allowPrivateNetwork: boolean; providerClass: ProviderClass | null; createdAt: string; updatedAt: string };

export type CustomNodeList = { nodes: CustomNode[] };

export type CustomNodeReply = { node: CustomNode };

export type CustomNodeCreate = { name: string; prefix: string; apiType: Dialect; type?: NodeType; baseUrl: string; authCarrier?: AuthCarrier; extraHeaders?: { [key in string]: string }; modelsPath?: string | null; allowPrivateNetwork?: boolean; providerClass?: ProviderClass };

export type CustomNodeTestReport = { ok: boolean; status: number | null; latencyMs: number; models: number | null; error: ProbeError | null };

export type ClientKey = { id: string; name: string; tail: string; isActive: boolean; scopes: string[]; allowedModels: string[]; allowedConnections: string[]; expiresAt: string | null; lastUsedAt: string | null; createdAt: string };

export type ClientKeyList = { keys: ClientKey[] };

export type ClientKeyReply = { record: ClientKey };

export type ClientKeyMade = { key: string; record: ClientKey };

export type ClientKeyCreate = { name: string; scopes?: string[]; allowedModels?: string[]; allowedConnections?: string[]; expiresAt?: string | null };

export type ClientKeyChange = { name?: string; isActive?: boolean; scopes?: string[]; allowedModels?: string[]; allowedConnections?: string[]; expiresAt?: string | null };

export type ModelAlias = { id: string; alias: string; target: string };

export type ModelAliasList = { aliases: ModelAlias[] };

export type CatalogModel = { id: string; provider: string; model: string; name: string; context: number | null; maxOutput: number | null; enabled: boolean };

export type CatalogModelList = { models: CatalogModel[] };

export type RequestOutcome = "success" | "failure" | "aborted";

export type RequestRow = { id: string; timestamp: string; method: string; path: string; sourceFormat: Dialect; targetFormat: Dialect | null; status: number; outcome: RequestOutcome; stream: boolean; requestedModel: string; provider: string | null; model: string | null; connectionId: string | null; connectionName: string | null; comboName: string | null; strategy: string | null; keyId: string | null; keyName: string | null; agent: string | null; attempts: number; durationMs: number; ttftMs: number | null; tokensInput: number | null; tokensOutput: number | null; tokensCacheRead: number | null; tokensCacheCreation: number | null; tokensReasoning: number | null; estimated: boolean; cost: number | null; errorCode: string | null; errorSummary: string | null; sessionTag: string | null };

export type RequestPage = { requests: RequestRow[]; nextCursor: string | null };

export type RequestFilter = { limit?: number; cursor?: string; status?: number; outcome?: RequestOutcome; provider?: string; model?: string; connectionId?: string; keyId?: string; session?: string; since?: string; until?: string };

export type AttemptView = { n: number; provider: string; model: string; connectionId: string; connectionName: string; startedAt: string; queuedMs: number; connectMs: number | null; firstTokenMs: number | null; durationMs: number; status: number | null; kind: string; decision: string; waitMs: number | null; message: string | null };

export type ExclusionView = { provider: string; model: string; connectionId: string | null; connectionName: string | null; mechanism: string; reason: string; until: string | null };

export type TraceView = { rule: number | null; attempts: AttemptView[]; exclusions: ExclusionView[]; changes: string[] };

export type RequestDetail = RequestRow & { trace: TraceView; requestBody: string | null; responseBody: string | null };

export type UsageGroup = { group: string; requests: number; successes: number; failures: number; tokensInput: number; tokensOutput: number; tokensCacheRead: number; tokensCacheCreation: number; tokensReasoning: number; cost: number | null; equivalentValue: number | null };

export type UsageSummary = { since: string; until: string; groups: UsageGroup[]; totals: UsageGroup };

export type SettingSource = "default" | "environment" | "stored";

export type SettingValue = null | boolean | number | string | string[] | { [key in string]: number };

export type SettingsTree = { gateway: { [key in string]: SettingValue }; routing: { [key in string]: SettingValue }; network: { [key in string]: SettingValue }; logging: { [key in string]: SettingValue }; sources: { [key in string]: SettingSource } };

export type SettingsChange = { [section in string]: { [key in string]: SettingValue } };

export type SettingField = { path: string; kind: string; unit: string | null; min: number | null; max: number | null; default: SettingValue; env: string | null; value: SettingValue; source: SettingSource };

export type SettingFieldList = { fields: SettingField[] };

export type HealthView = { status: string; timestamp: string; version: string; uptime: number; activeConnections: number; setupComplete: boolean };

export type ManagementToken = { token: string };

export type Deleted = { deleted: number };

export type Topic = "connections" | "cooldowns" | "breakers" | "lockouts" | "settings" | "requests" | "usage" | "quota" | "combos" | "keys" | "sessions";

export type Changed = { topics: Topic[]; at: string };

export type Live = { inFlight: number; queued: number; tokensPerSecond: number; requestsPerMinute: number };

export type ControlError = { code: string; message: string; details: FieldProblem[] };

export type FieldProblem = { field: string; message: string };
