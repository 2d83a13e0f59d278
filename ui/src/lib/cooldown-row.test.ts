import { describe, expect, it } from "vitest";
import { cooldownRow } from "@/test/resilience-world";
import { byUrgency, liveRow } from "./cooldown-row";

const now = Date.parse("2026-03-01T12:00:00.000Z");
const at = (seconds: number) => new Date(now + seconds * 1_000).toISOString();
const lock = (seconds: number) => ({
  model: "m",
  reason: "rate_limit",
  scope: "model",
  remainingMs: seconds * 1_000,
  expiresAt: at(seconds),
});

describe("a connection out of rotation", () => {
  it.each([
    ["cools until its end", { status: "cooling_down", rateLimitedUntil: at(9) }, "cooling_down", 9],
    ["is back when its cooldown is over", { status: "cooling_down", rateLimitedUntil: at(-1) }, "healthy", null],
    [
      "is still locked when only its cooldown is over",
      { status: "cooling_down", rateLimitedUntil: at(-1), lockouts: [lock(7), lock(3)] },
      "model_locked",
      3,
    ],
    ["is back when its last lock is over", { status: "model_locked", lockouts: [lock(-1)] }, "healthy", null],
    ["needs a person, whatever else", { status: "terminal", rateLimitedUntil: at(99) }, "terminal", null],
    [
      "is in doubt until it works again",
      { status: "cooling_down", rateLimitedUntil: at(-1), testStatus: "unavailable" },
      "unavailable",
      null,
    ],
    ["is as the gateway says when it is switched off", { status: "unavailable", isActive: false }, "unavailable", null],
  ] as const)("%s", (_, part, status, left) => {
    const live = liveRow(cooldownRow("c1", part as never), now);
    expect(live.status).toBe(status);
    expect(live.until).toBe(left === null ? null : now + left * 1_000);
  });

  it("stands before those that need it less, and the next to come back before later ones", () => {
    const rows = [
      cooldownRow("late", { status: "cooling_down", rateLimitedUntil: at(90) }),
      cooldownRow("fine"),
      cooldownRow("soon", { status: "cooling_down", rateLimitedUntil: at(5) }),
      cooldownRow("gone", { status: "terminal" }),
    ].map((row) => liveRow(row, now));
    expect(rows.sort(byUrgency).map(({ id }) => id)).toEqual(["gone", "soon", "late", "fine"]);
  });
});
