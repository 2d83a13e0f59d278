import { describe, expect, it } from "vitest";
import type { BreakerTransition } from "@/bindings";
import { breakerNow, reasonKey, ribbon } from "./breaker";

const at = (minute: number) => minute * 60_000;
const change = (from: string, to: string, minute: number) =>
  ({ from, to, timestamp: new Date(at(minute)).toISOString(), failureCount: 1, reason: "" }) as BreakerTransition;

describe("a breaker", () => {
  it("that is open lets a request through once its wait is over, without being told", () => {
    const told = { state: "OPEN", retryAfterMs: 5_000 } as const;
    expect(breakerNow(told, 10_000, 14_999)).toBe("OPEN");
    expect(breakerNow(told, 10_000, 15_000)).toBe("HALF_OPEN");
    expect(breakerNow({ state: "DEGRADED", retryAfterMs: 0 }, 10_000, 99_000)).toBe("DEGRADED");
  });

  it("draws its changes as spans without gaps, cut to what is looked at", () => {
    const history = [
      change("CLOSED", "DEGRADED", 1),
      change("DEGRADED", "OPEN", 20),
      change("OPEN", "HALF_OPEN", 25),
      change("HALF_OPEN", "CLOSED", 26),
    ];
    expect(ribbon(history, "CLOSED", at(10), at(60))).toEqual([
      { state: "DEGRADED", from: at(10), to: at(20) },
      { state: "OPEN", from: at(20), to: at(25) },
      { state: "HALF_OPEN", from: at(25), to: at(26) },
      { state: "CLOSED", from: at(26), to: at(60) },
    ]);
  });

  it("without history is one span", () => {
    expect(ribbon([], "CLOSED", 0, at(60))).toEqual([{ state: "CLOSED", from: 0, to: at(60) }]);
  });

  it.each([
    ["elevated-failures (5/8)", "elevated-failures"],
    ["kind:rate_limit", "kind"],
    ["recovery", "recovery"],
  ])("gives %s as its reason, known as %s", (reason, key) => expect(reasonKey(reason)).toBe(key));
});
