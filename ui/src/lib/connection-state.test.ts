import { describe, expect, it } from "vitest";
import type { Connection } from "@/bindings";
import { connection } from "@/test/world";
import { connectionState, countStates, needingAttention } from "./connection-state";

const now = Date.parse("2026-05-01T12:00:00.000Z");
const later = "2026-05-01T12:02:42.000Z";

describe("the state of a connection", () => {
  it.each([
    ["a healthy one is ready", {}, "ready", "ready"],
    ["one never tried is ready", { testStatus: "unknown" }, "ready", "ready"],
    ["one without its key is blocked", { hasCredential: false }, "blocked", "noKey"],
    ["one that needs no key is ready without", { hasCredential: false, authType: "none" }, "ready", "ready"],
    ["one that waits is cooling", { testStatus: "error", rateLimitedUntil: later }, "cooling", "cooling"],
    ["one that failed is degraded", { testStatus: "error", lastError: "503" }, "degraded", "unavailable"],
    ["a terminal state beats a cooldown", { testStatus: "banned", rateLimitedUntil: later }, "terminal", "banned"],
    ["one that was signed in signs in anew", { testStatus: "expired", authType: "oauth" }, "terminal", "expired"],
    ["one with a key needs another key", { testStatus: "expired", authType: "apikey" }, "terminal", "keyRefused"],
    ["its owner's switch beats everything", { isActive: false, testStatus: "banned" }, "terminal", "off"],
  ] as const)("%s", (_, part, state, word) => {
    expect(connectionState(connection("c1", part as Partial<Connection>), now)).toMatchObject({ state, word });
  });

  it("is ready again at the very instant the cooldown ends", () => {
    expect(connectionState(connection("c1", { rateLimitedUntil: later }), Date.parse(later)).state).toBe("ready");
  });
});

it("counting tells the earliest return of those that cool", () => {
  const counts = countStates(
    [
      connection("c1"),
      connection("c2", { rateLimitedUntil: "2026-05-01T13:00:00.000Z" }),
      connection("c3", { rateLimitedUntil: later }),
      connection("c4", { hasCredential: false }),
      connection("c5", { isActive: false }),
      connection("c6", { testStatus: "banned" }),
      connection("c7", { testStatus: "credits_exhausted", rateLimitedUntil: later }),
      connection("c8", { testStatus: "banned", isActive: false }),
    ],
    now,
  );
  expect(counts).toMatchObject({ ready: 1, cooling: 2, blocked: 1, terminal: 2, off: 2, nextBack: Date.parse(later) });
  expect(needingAttention(counts)).toBe(3);
});
