import { describe, expect, it } from "vitest";
import { quota } from "@/test/quota-world";
import { problemOf, standingOf, windowStanding, windowsOf } from "./quota";

const now = Date.parse("2026-01-01T12:00:00Z");
const later = "2026-01-01T14:00:00Z";
const before = "2026-01-01T11:00:00Z";

describe("an account's quota", () => {
  it("has its short windows first, then the long ones, then what it counts by model", () => {
    const account = quota("c1", {
      windows: Object.fromEntries(
        ["tokens", "monthly", "7d:opus", "weekly", "session"].map((name) => [
          name,
          { percentUsed: 0.1, resetAt: later },
        ]),
      ),
      models: { "gemini-pro": { percentUsed: 0.2, resetAt: null } },
    });
    const names = windowsOf(account, now).map(({ name }) => name);
    expect(names).toEqual(["session", "weekly", "7d:opus", "monthly", "tokens", "gemini-pro"]);
  });

  it("is full again once its reset has passed, and stays unknown where nobody said", () => {
    const windows = { session: { percentUsed: 0.9, resetAt: before }, weekly: { percentUsed: null, resetAt: later } };
    expect(windowsOf(quota("c1", { windows }), now)).toMatchObject([
      { name: "session", used: 0, resetAt: null },
      { name: "weekly", used: null, resetAt: later },
    ]);
  });

  it.each([
    [null, "unknown"],
    [0, "enough"],
    [0.79, "enough"],
    [0.8, "low"],
    [0.999, "low"],
    [1, "usedUp"],
  ] as const)("of which %s is used is %s", (used, expected) => {
    expect(windowStanding(used, 20)).toBe(expected);
  });

  it("stands as its worst window does", () => {
    const of = (part: Parameters<typeof quota>[1]) => standingOf(quota("c1", part), 20, now);
    const used = (percentUsed: number | null, resetAt = later) => ({ percentUsed, resetAt });
    expect(of({})).toBe("unknown");
    expect(of({ windows: { session: used(null) } })).toBe("unknown");
    expect(of({ windows: { session: used(0.1), weekly: used(null) } })).toBe("enough");
    expect(of({ windows: { session: used(0.1), weekly: used(0.85) } })).toBe("low");
    expect(of({ windows: { session: used(1), weekly: used(0.1) } })).toBe("usedUp");
    expect(of({ windows: { session: used(1, before) } })).toBe("enough");
    expect(of({ windows: { session: used(0.5) }, limitReached: true })).toBe("usedUp");
    expect(of({ windows: { session: used(1, before) }, limitReached: true })).toBe("enough");
    expect(of({ models: { opus: used(1) }, windows: { session: used(0.1) } })).toBe("low");
    expect(of({ balances: [{ currency: "USD", remaining: 0, total: 20 }] })).toBe("usedUp");
    expect(of({ balances: [{ currency: "USD", remaining: 3, total: null }] })).toBe("enough");
    expect(of({ balances: [{ currency: "USD", remaining: null, total: null }] })).toBe("unknown");
  });

  it("tells why asking was in vain, and not that nobody asked", () => {
    expect(problemOf(quota("c1", { canRefresh: true, message: "401 from its vendor" }))).toBe("401 from its vendor");
    expect(problemOf(quota("c1", { canRefresh: true, message: "nobody has asked its vendor yet" }))).toBeNull();
    expect(problemOf(quota("c1", { canRefresh: false, message: "nothing is known" }))).toBeNull();
  });
});
