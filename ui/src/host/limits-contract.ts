/**
 * What the gateway says about limits of accounts, what is left of their quotas, and requests of one combo (gateway
 * specification, 4.4, 5.1 and 6.1), in the form of `bindings.ts`. It stands here until the program's own bindings carry
 * the same names; `operations.ts` joins the two.
 */
import type {
  ConnectionChange,
  ConnectionReply,
  ControlError,
  Instant,
  RequestFilter,
  Requests,
  Topic,
} from "@/bindings";

/**  What is `null` is not overridden. */
export type RateLimitOverrides = {
  /**  Requests within a minute. */
  rpm: number | null;
  /**  Tokens within a minute. */
  tpm: number | null;
  /**  Tokens within a day. */
  tpd: number | null;
  /**  Shortest time between two requests, in milliseconds. */
  minTime: number | null;
  /**  Requests under way. */
  maxConcurrent: number | null;
  /**  How long a request waits in the queue at most. */
  maxWaitMs: number | null;
  /**  How long a request may take once it is sent. */
  executionMaxWaitMs: number | null;
  /**  Requests under way by model, exactly as the upstream calls it. */
  modelConcurrency: { [key in string]: number };
};

/**  A change: absent members stay, `null` unsets. */
export type RateLimitOverridesChange = {
  rpm?: number | null;
  tpm?: number | null;
  tpd?: number | null;
  minTime?: number | null;
  maxConcurrent?: number | null;
  maxWaitMs?: number | null;
  executionMaxWaitMs?: number | null;
  /**  Replaced whole. */
  modelConcurrency?: { [key in string]: number } | null;
};

export type LimitsChange = ConnectionChange & {
  rateLimitProtection?: boolean | null;
  /**  Merged member by member. */
  rateLimitOverrides?: RateLimitOverridesChange | null;
};

export type QuotaFilter = {
  /**  Provider id. */
  provider?: string | null;
};

/**  Whose quota to ask for. */
export type QuotaRefresh = {
  /**  All that are switched on and can be used, when absent. */
  connectionIds?: string[] | null;
};

export type QuotaStatus = {
  /**  By provider, then priority. */
  connections: QuotaConnection[];
};

/**  What is known of one account. Unknown is `null` or absent, never zero. */
export type QuotaConnection = {
  connectionId: string;
  provider: string;
  /**  The vendor's name for what the account has booked. */
  plan: string | null;
  /**  Who said it; `null` when nobody has said anything. */
  source: QuotaSource | null;
  fetchedAt: Instant | null;
  /**  The vendor refuses further requests. */
  limitReached: boolean;
  /**  `session`, `daily`, `weekly`, `monthly`, `7d:<model>`, `requests`, `tokens`, … */
  windows: { [key in string]: QuotaWindow };
  /**  By model, where the vendor counts models apart. */
  models: { [key in string]: QuotaWindow };
  balances: QuotaBalance[];
  /**  Whether its vendor can be asked; otherwise its replies announce what they announce. */
  canRefresh: boolean;
  /**  Why nothing is known, or why asking was in vain. */
  message: string | null;
};

export type QuotaWindow = {
  /**  A fraction, 0 to 1. A window whose reset has passed is full again. */
  percentUsed: number | null;
  resetAt: Instant | null;
};

export type QuotaBalance = {
  /**  `USD`, `CNY`, `credits`, … */
  currency: string;
  remaining: number;
  total: number | null;
};

export type QuotaSource = "endpoint" | "headers" | "learned" | "manual";

type Reply<T> = Promise<{ status: "ok"; data: T } | { status: "error"; error: ControlError }>;

export type LimitCommands = {
  connection_update(id: string, input: LimitsChange): Reply<ConnectionReply>;
  requests_list(input: RequestFilter & { combo?: string | null }): Reply<Requests>;
  quota_list(input: QuotaFilter): Reply<QuotaStatus>;
  quota_refresh(input: QuotaRefresh): Reply<QuotaStatus>;
};

type Row = {
  name: keyof LimitCommands;
  kind: "read" | "change";
  method: "GET" | "POST";
  path: string;
  topics: readonly Topic[];
};

export const limitOperations = [
  { name: "quota_list", kind: "read", method: "GET", path: "/api/usage/quota", topics: ["quota", "connections"] },
  { name: "quota_refresh", kind: "change", method: "POST", path: "/api/usage/quota/refresh", topics: ["quota"] },
] as const satisfies readonly Row[];
