/** How a window of an account filled and emptied: lines between what was announced, down to nought at each reset. */
import type { QuotaPoint } from "@/bindings";

type Sample = { readonly at: number; readonly value: number };

export type QuotaCourse = {
  /** Stretches between two resets. */
  readonly runs: readonly (readonly Sample[])[];
  /** When the window began anew. */
  readonly resets: readonly number[];
};

/** The course until `to`. A window that was reset counts as empty until somebody says otherwise. */
export function courseOf(points: readonly QuotaPoint[], to: number): QuotaCourse {
  const runs: Sample[][] = [];
  const resets: number[] = [];
  let run: Sample[] = [];
  let resetAt: number | null = null;

  const close = () => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  const reset = (at: number) => {
    const last = run.at(-1);
    if (last) run.push({ at, value: last.value });
    close();
    resets.push(at);
    run = [{ at, value: 0 }];
  };

  for (const point of points) {
    const at = Date.parse(point.at);
    if (resetAt !== null && resetAt <= at) reset(resetAt);
    if (point.percentUsed === null) close();
    else run.push({ at, value: point.percentUsed });
    const next = point.resetAt === null ? null : Date.parse(point.resetAt);
    // What was announced as over already says nothing about when.
    resetAt = next !== null && next > at ? next : null;
  }
  if (resetAt !== null && resetAt <= to) reset(resetAt);
  const last = run.at(-1);
  if (last && last.at < to) run.push({ at: to, value: last.value });
  close();
  return { runs, resets };
}

/** The windows that points tell of, in the order in which they first appear. */
export function byWindow(points: readonly QuotaPoint[]): ReadonlyMap<string, readonly QuotaPoint[]> {
  const windows = new Map<string, QuotaPoint[]>();
  for (const point of points) windows.set(point.window, [...(windows.get(point.window) ?? []), point]);
  return windows;
}
