import { describe, expect, it } from "vitest";
import type { Key } from "@/bindings";
import { key } from "@/test/world";
import { draftOf, fieldsOf, isComplete, noFields } from "./key-draft";

const NOW = Date.parse("2026-05-01T12:00:00.000Z");
const named = { ...noFields, name: " Laptop " };
const limit = { id: 0, scopeType: "global", scopeValue: "", tokens: "5", interval: "daily" } as const;

describe("the draft of a key", () => {
  it("opens everything for ever unless told otherwise", () => {
    expect(draftOf(named, NOW)).toEqual({
      name: "Laptop",
      expiresAt: null,
      allowedModels: [],
      allowedCombos: [],
      allowedConnections: [],
      preferredConnections: [],
      scopes: [],
      budgetDailyUsd: null,
      budgetWeeklyUsd: null,
      budgetMonthlyUsd: null,
      warningThreshold: 0.8,
      resetInterval: "daily",
      resetTime: "00:00",
      tokenLimits: [],
    });
  });

  it("counts days from now", () => {
    expect(draftOf({ ...named, expiry: "7" }, NOW).expiresAt).toBe("2026-05-08T12:00:00.000Z");
  });

  it("ends with the last day, and reads it back as that day", () => {
    const { expiresAt } = draftOf({ ...named, expiry: "date", date: "2026-12-31" }, NOW);
    expect(new Date(expiresAt ?? "").getTime()).toBe(new Date(2027, 0, 1).getTime());
    expect(fieldsOf(key("k", { expiresAt })).date).toBe("2026-12-31");
  });

  it("leaves an instant finer than a day as it was while the day is not changed", () => {
    const expiresAt = new Date(2026, 5, 3, 15, 30).toISOString();
    const fields = fieldsOf(key("k", { expiresAt }));
    expect(draftOf(fields, NOW, expiresAt).expiresAt).toBe(expiresAt);
  });

  it("reads amounts with a point or a comma, and reads back what it wrote", () => {
    const tokenLimit = {
      id: 0,
      scopeType: "model",
      scopeValue: " openai/* ",
      tokens: "5000",
      interval: "weekly",
    } as const;
    const fields = {
      ...named,
      budgets: { daily: "2,50", weekly: "", monthly: "20" },
      warnAt: "57",
      tokenLimits: [tokenLimit],
    };
    const draft = draftOf(fields, NOW);
    expect(draft).toMatchObject({ budgetDailyUsd: 2.5, budgetWeeklyUsd: null, budgetMonthlyUsd: 20 });
    expect(draft.warningThreshold).toBeCloseTo(0.57);
    expect(draft.tokenLimits).toEqual([
      { scopeType: "model", scopeValue: "openai/*", tokenLimit: 5000, resetInterval: "weekly" },
    ]);
    const again = fieldsOf(key("k", draft as Partial<Key>));
    expect(again.budgets).toEqual({ daily: "2.5", weekly: "", monthly: "20" });
    expect(again.warnAt).toBe("57");
    expect(again.tokenLimits[0]).toEqual({ ...tokenLimit, scopeValue: "openai/*" });
  });

  it.each([
    ["without a name", noFields, false],
    ["with a name", named, true],
    ["with an empty list of connections", { ...named, connections: [] }, false],
    ["that leases without connections of its own", { ...named, scopes: ["lease:exclusive" as const] }, false],
    [
      "that leases one of its connections",
      { ...named, scopes: ["lease:exclusive" as const], connections: ["c"] },
      true,
    ],
    ["with an empty list of combos", { ...named, combos: [] }, false],
    ["with a budget of nothing", { ...named, budgets: { daily: "0", weekly: "", monthly: "" } }, false],
    ["with a budget that is no number", { ...named, budgets: { daily: "", weekly: "much", monthly: "" } }, false],
    ["that warns beyond the end", { ...named, warnAt: "101" }, false],
    ["without a reset time", { ...named, resetTime: "" }, false],
    ["with a limit of no tokens", { ...named, tokenLimits: [{ ...limit, tokens: "" }] }, false],
    ["with a limit of half a token", { ...named, tokenLimits: [{ ...limit, tokens: "1.5" }] }, false],
    ["with a limit of no provider", { ...named, tokenLimits: [{ ...limit, scopeType: "provider" as const }] }, false],
    ["with a limit of all tokens", { ...named, tokenLimits: [limit] }, true],
    ["that ends on no day", { ...named, expiry: "date" as const }, false],
  ])("%s is complete: %s", (_, fields, complete) => expect(isComplete(fields)).toBe(complete));
});
