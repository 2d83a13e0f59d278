/** The sixteen factors of `auto`, and the ready-made sets of their weights (gateway specification, 3.5). */

export const factors = [
  "health",
  "quota",
  "costInv",
  "latencyInv",
  "taskFit",
  "stability",
  "tierPriority",
  "tierAffinity",
  "specificityMatch",
  "contextAffinity",
  "sessionAvailability",
  "connectionDensity",
  "quality",
  "reliability",
  "cacheAffinity",
  "resetWindowAffinity",
] as const;
export type Factor = (typeof factors)[number];
export type Weights = Readonly<Partial<Record<Factor, number>>>;

const everywhere = { sessionAvailability: 0.0476, connectionDensity: 0.0476 };

const row = (
  quota: number,
  health: number,
  costInv: number,
  latencyInv: number,
  taskFit: number,
  stability: number,
  tierPriority: number,
  contextAffinity: number,
  quality: number,
  reliability: number,
): Weights => ({
  quota,
  health,
  costInv,
  latencyInv,
  taskFit,
  stability,
  tierPriority,
  contextAffinity,
  quality,
  reliability,
  ...everywhere,
});

export const weightPacks = {
  "ship-fast": row(0.1133, 0.2667, 0.0276, 0.3048, 0.0952, 0, 0.0376, 0.0095, 0.02, 0.03),
  "cost-saver": row(0.1133, 0.181, 0.3324, 0.0476, 0.0952, 0.0476, 0.0376, 0, 0.02, 0.03),
  "quality-first": row(0.0752, 0.1714, 0.0276, 0.0476, 0.3524, 0.1429, 0.0276, 0, 0.03, 0.03),
  "offline-friendly": row(0.3324, 0.2667, 0.0752, 0.0476, 0, 0.0952, 0.0376, 0, 0.02, 0.03),
  "reliability-first": row(0.1133, 0.3524, 0.0181, 0.0476, 0.0952, 0.1905, 0.0276, 0, 0.02, 0.04),
  "chaos-mode": row(0.0376, 0.4, 0.014, 0.0186, 0.1905, 0.1714, 0.004, 0.0186, 0.02, 0.03),
} as const satisfies Record<string, Weights>;
export type WeightPack = keyof typeof weightPacks;

export const defaultWeights: Weights = {
  quota: 0.1429,
  health: 0.1605,
  costInv: 0.1429,
  latencyInv: 0.1143,
  taskFit: 0.0762,
  stability: 0.0476,
  tierPriority: 0.0476,
  tierAffinity: 0.0476,
  specificityMatch: 0.0476,
  contextAffinity: 0.0476,
  quality: 0.03,
  ...everywhere,
};

export function weightPack(name: unknown): WeightPack | null {
  return typeof name === "string" && Object.hasOwn(weightPacks, name) ? (name as WeightPack) : null;
}

/** The weights a person wrote, of the factors there are. */
export function readWeights(value: unknown): Weights | null {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) return null;
  const written = value as Record<string, unknown>;
  return Object.fromEntries(
    factors.flatMap((factor) => (typeof written[factor] === "number" ? [[factor, written[factor]]] : [])),
  );
}

/** What each factor contributes at most, 0 to 1, together one. */
export function normalised(weights: Weights): Record<Factor, number> {
  const sum = factors.reduce((total, factor) => total + (weights[factor] ?? 0), 0);
  const used = sum > 0 ? weights : defaultWeights;
  const total = sum > 0 ? sum : factors.reduce((all, factor) => all + (defaultWeights[factor] ?? 0), 0);
  return Object.fromEntries(factors.map((factor) => [factor, (used[factor] ?? 0) / total])) as Record<Factor, number>;
}
