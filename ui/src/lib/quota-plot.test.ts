import { describe, expect, it } from "vitest";
import type { QuotaPoint } from "@/bindings";
import { byWindow, courseOf } from "./quota-plot";

const iso = (at: number) => new Date(at).toISOString();
const point = (at: number, percentUsed: number | null, resetAt: number | null = null): QuotaPoint => ({
  window: "session",
  at: iso(at),
  percentUsed,
  resetAt: resetAt === null ? null : iso(resetAt),
});

describe("the course of a quota", () => {
  it("goes on as it was last announced", () => {
    expect(courseOf([point(10, 0.2), point(20, 0.4)], 50).runs).toEqual([
      [
        { at: 10, value: 0.2 },
        { at: 20, value: 0.4 },
        { at: 50, value: 0.4 },
      ],
    ]);
  });

  it("falls to nought when the window begins anew, and fills again from there", () => {
    const { runs, resets } = courseOf([point(10, 0.8, 30), point(40, 0.1, 90)], 60);
    expect(resets).toEqual([30]);
    expect(runs).toEqual([
      [
        { at: 10, value: 0.8 },
        { at: 30, value: 0.8 },
      ],
      [
        { at: 30, value: 0 },
        { at: 40, value: 0.1 },
        { at: 60, value: 0.1 },
      ],
    ]);
  });

  it("is empty after a reset that nobody has asked about since", () => {
    const { runs, resets } = courseOf([point(10, 0.8, 30)], 60);
    expect(resets).toEqual([30]);
    expect(runs.at(-1)).toEqual([
      { at: 30, value: 0 },
      { at: 60, value: 0 },
    ]);
  });

  it("has a gap where nobody knows, and no reset that was over when it was announced", () => {
    const { runs, resets } = courseOf([point(10, 0.8, 5), point(20, null), point(30, 0.5)], 40);
    expect(resets).toEqual([]);
    expect(runs.map((run) => run.length)).toEqual([1, 2]);
  });

  it("is told apart by window", () => {
    const weekly = { ...point(10, 0.5), window: "weekly" };
    expect([...byWindow([point(10, 0.2), weekly, point(20, 0.3)]).keys()]).toEqual(["session", "weekly"]);
  });
});
