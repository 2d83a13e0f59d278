/**
 * The time by the gateway's clock, which is the one its instants are meant in. Both usually run on the same machine; a
 * difference below a second is taken as travel time, not as a wrong clock.
 */
let offsetMs = 0;

export function setReference(gatewayNowMs: number): void {
  const difference = gatewayNowMs - Date.now();
  if (Number.isFinite(difference)) offsetMs = Math.abs(difference) < 1_000 ? 0 : difference;
}

export function now(): number {
  return Date.now() + offsetMs;
}

/** An instant of this machine's clock, by the gateway's: when an answer arrived, for what it says is left. */
export function fromLocal(instant: number): number {
  return instant + offsetMs;
}
