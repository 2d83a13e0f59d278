/** Quotas as the gateway sends them. */
import type { QuotaConnection } from "@/bindings";

/** An account of which nothing is known. */
export function quota(connectionId: string, part: Partial<QuotaConnection> = {}): QuotaConnection {
  return {
    connectionId,
    provider: "anthropic",
    plan: null,
    source: null,
    fetchedAt: null,
    limitReached: false,
    windows: {},
    models: {},
    balances: [],
    canRefresh: false,
    message: null,
    ...part,
  };
}
