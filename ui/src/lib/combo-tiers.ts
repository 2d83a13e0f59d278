/** Tiers of a combo while they are edited: another order of its steps, by name (gateway specification, 3.1). */
import type { ComboStep, ComboTier, CompositeTiers } from "@/bindings";

export type Tiers = CompositeTiers | null;

/** A further tier at the end of the chain, for the first step that has none. */
export function withTier(tiers: Tiers, steps: readonly ComboStep[], nameOf: (n: number) => string): Tiers {
  const taken = tiers?.tiers ?? {};
  const free = steps.find(({ id }) => !Object.values(taken).some(({ stepId }) => stepId === id)) ?? steps[0];
  if (!free) return tiers;
  let n = Object.keys(taken).length + 1;
  while (nameOf(n) in taken) n += 1;
  const name = nameOf(n);
  const last = lastOfChain(tiers);
  const linked = last ? { ...taken, [last]: { ...taken[last], fallbackTier: name } as ComboTier } : taken;
  return {
    defaultTier: tiers?.defaultTier || name,
    tiers: { ...linked, [name]: { stepId: free.id, fallbackTier: null } },
  };
}

/** Where the chain from the default tier ends. */
function lastOfChain(tiers: Tiers): string | null {
  if (!tiers) return null;
  const seen = new Set<string>();
  let name = tiers.defaultTier;
  for (;;) {
    const tier = tiers.tiers[name];
    if (!tier || seen.has(name)) return null;
    seen.add(name);
    if (!tier.fallbackTier) return name;
    name = tier.fallbackTier;
  }
}

/** Under another name, everywhere; unchanged where that name is empty or taken. */
export function renamed(tiers: CompositeTiers, before: string, after: string): CompositeTiers {
  const name = after.trim();
  if (!name || name === before || name in tiers.tiers) return tiers;
  const follow = (tier: string) => (tier === before ? name : tier);
  return {
    defaultTier: follow(tiers.defaultTier),
    tiers: Object.fromEntries(
      Object.entries(tiers.tiers).map(([key, { stepId, fallbackTier }]) => [
        follow(key),
        { stepId, fallbackTier: fallbackTier ? follow(fallbackTier) : null },
      ]),
    ),
  };
}

/** Without that tier: whoever fell back to it falls back to what came after it. `null` when it was the last. */
export function withoutTier(tiers: CompositeTiers, gone: string): Tiers {
  const next = tiers.tiers[gone]?.fallbackTier ?? null;
  const left = Object.entries(tiers.tiers).filter(([name]) => name !== gone);
  const [first] = left;
  if (!first) return null;
  return {
    defaultTier: tiers.defaultTier === gone ? (next ?? first[0]) : tiers.defaultTier,
    tiers: Object.fromEntries(
      left.map(([name, { stepId, fallbackTier }]) => [
        name,
        { stepId, fallbackTier: fallbackTier === gone && next !== name ? next : (fallbackTier ?? null) },
      ]),
    ),
  };
}

/** Without the tiers of steps that are no longer there. */
export function keptTiers(tiers: Tiers, steps: readonly ComboStep[]): Tiers {
  const gone = Object.entries(tiers?.tiers ?? {}).filter(([, { stepId }]) => !steps.some(({ id }) => id === stepId));
  return gone.reduce<Tiers>((left, [name]) => left && withoutTier(left, name), tiers);
}

/** In the order in which they are asked; those that the chain never reaches stand last. */
export function inOrder({ defaultTier, tiers }: CompositeTiers): string[] {
  const chain: string[] = [];
  for (let name: string | null = defaultTier; name && tiers[name] && !chain.includes(name); ) {
    chain.push(name);
    name = tiers[name]?.fallbackTier ?? null;
  }
  return [...chain, ...Object.keys(tiers).filter((name) => !chain.includes(name))];
}
