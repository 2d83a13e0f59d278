/** Waiting for something to become true: bounded, and never for time alone. */
import { setTimeout as pause } from "node:timers/promises";

const LOOK_AGAIN_MS = 50;
const PATIENCE_MS = 20_000;

/**
 * Asks until the answer is something, and returns it. Errors count as “not yet”; the last one explains a failure.
 *
 * @template T
 * @param {string} what is waited for, for the message
 * @param {() => T | Promise<T>} probe
 * @param {number} [within] milliseconds
 * @returns {Promise<NonNullable<T>>}
 */
export async function eventually(what, probe, within = PATIENCE_MS) {
  const deadline = Date.now() + within;
  for (;;) {
    /** @type {unknown} */
    let cause;
    try {
      const answer = await probe();
      if (answer) return answer;
    } catch (error) {
      cause = error;
    }
    if (Date.now() >= deadline) {
      const because = cause instanceof Error ? `: ${cause.message}` : "";
      throw new Error(`${what}: not within ${within} ms${because}`, { cause });
    }
    await pause(LOOK_AGAIN_MS);
  }
}
