/** Quota pools as the gateway sends them. */
import type { QuotaKeyState, QuotaPool, QuotaPoolState, QuotaPools } from "@/bindings";

export function pool(id: string, part: Partial<QuotaPool> = {}): QuotaPool {
  return {
    id,
    name: id,
    slug: id,
    connections: ["c1"],
    dimensions: [{ unit: "requests", window: "hourly", limit: 40 }],
    allocations: [{ apiKeyId: "k1", weight: 3, capValue: null, policy: "hard" }],
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-02T00:00:00.000Z",
    ...part,
  };
}

export function poolKey(apiKeyId: string | null, part: Partial<QuotaKeyState> = {}): QuotaKeyState {
  return { apiKeyId, name: apiKeyId, policy: "hard", standing: "allowed", until: null, uses: [], ...part };
}

export function poolState(of: QuotaPool, part: Partial<QuotaPoolState> = {}): QuotaPoolState {
  return {
    pool: of,
    dimensions: of.dimensions.map((dimension) => ({ ...dimension, used: 0, measured: null, strict: false })),
    keys: [],
    accounts: [],
    models: [],
    ...part,
  };
}

export function pools(...all: QuotaPool[]): QuotaPools {
  return {
    pools: all,
    presets: [{ provider: "kimi", dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }] }],
  };
}
