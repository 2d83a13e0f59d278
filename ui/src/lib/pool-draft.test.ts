import { describe, expect, it } from "vitest";
import { draftOf, fieldsOf, isComplete, nextKey, noPool, type PartFields, shareOf, slugOf } from "./pool-draft";

const part = (weight: string, more: Partial<PartFields> = {}): PartFields => ({
  key: 0,
  apiKeyId: "k1",
  weight,
  cap: "",
  policy: "hard",
  ...more,
});

describe("what is typed about a quota pool", () => {
  it("becomes the pool that it came from", () => {
    const pool = {
      id: "p1",
      name: "Team",
      slug: "team",
      connections: ["c1"],
      dimensions: [{ unit: "percent", window: "5h", limit: 100 }],
      allocations: [
        { apiKeyId: "k1", weight: 2.5, capValue: 30, policy: "burst" },
        { apiKeyId: "k2", weight: 1, capValue: null, policy: "soft" },
      ],
      createdAt: "2026-01-01T00:00:00.000Z",
      updatedAt: "2026-01-01T00:00:00.000Z",
    } as const;
    const { id, createdAt, updatedAt, ...written } = pool;
    expect(draftOf(fieldsOf({ ...pool, ...structuredClone(written) } as never))).toEqual(written);
  });

  it("is complete with a name, an account, and figures that make sense", () => {
    const full = { ...noPool, name: "Team", connections: ["c1"] };
    expect(isComplete(full)).toBe(true);
    for (const wrong of [
      { ...full, name: " " },
      { ...full, connections: [] },
      { ...full, limits: [{ key: 0, unit: "usd", window: "daily", limit: "0" }] as const },
      { ...full, limits: [{ key: 0, unit: "usd", window: "daily", limit: "much" }] as const },
      { ...full, parts: [part("1", { apiKeyId: "" })] },
      { ...full, parts: [part("-1")] },
      { ...full, parts: [part("1", { cap: "0" })] },
    ]) {
      expect(isComplete(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });

  it("says which part each key gets", () => {
    expect(shareOf([part("3"), part("1")], 0)).toBe(0.75);
    expect(shareOf([part("0"), part("0")], 1)).toBe(0.5);
    expect(shareOf([part("3"), part("")], 0)).toBeNull();
  });

  it("counts lines on, and makes slugs as the gateway does", () => {
    expect(nextKey([])).toBe(0);
    expect(nextKey([{ key: 4 }, { key: 2 }])).toBe(5);
    expect([slugOf("Team One!"), slugOf("été 2"), slugOf(" ")]).toEqual(["teamone", "t2", "pool"]);
  });
});
