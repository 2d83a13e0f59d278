/** How long a lock or a rest grows with each further failure (resilience specification, 11.4). */

export type Ladder = { base: number; ceiling: number; steps: number; doubles: boolean };

/** Lengths in milliseconds of the first failure, the second, and so on until they no longer grow. */
export function escalation({ base, ceiling, steps, doubles }: Ladder): number[] {
  const lengths = [Math.min(base, ceiling)];
  if (!doubles) return lengths;
  for (let step = 1; step <= steps; step += 1) {
    const next = Math.min(base * 2 ** step, ceiling);
    if (next === lengths.at(-1)) break;
    lengths.push(next);
  }
  return lengths;
}
