import { describe, expect, it } from "vitest";
import type { UsageGroup } from "@/bindings";
import { answeredPart, beginningOf, everyDay, toCsv } from "./usage";

const noon = Date.parse("2026-03-03T12:00:00Z");
const group = (part: Partial<UsageGroup>): UsageGroup => ({
  group: null,
  name: null,
  requests: 0,
  successes: 0,
  failures: 0,
  aborted: 0,
  tokensInput: 0,
  tokensOutput: 0,
  tokensCacheRead: 0,
  tokensCacheCreation: 0,
  tokensReasoning: 0,
  cost: 0,
  ...part,
});

describe("usage", () => {
  it("begins with a whole day, and today is one of them", () => {
    expect(beginningOf(1, noon)).toBe("2026-03-03T00:00:00.000Z");
    expect(beginningOf(7, noon)).toBe("2026-02-25T00:00:00.000Z");
  });

  it("has every day, those without a request included", () => {
    const days = everyDay([group({ group: "2026-03-02", requests: 4 })], "2026-03-01T00:00:00.000Z", noon);
    expect(days.map((day) => [day.group, day.requests])).toEqual([
      ["2026-03-01", 0],
      ["2026-03-02", 4],
      ["2026-03-03", 0],
    ]);
  });

  it("counts those whose client left neither as answered nor as failed", () => {
    expect(answeredPart({ successes: 3, failures: 1 })).toBe(0.75);
    expect(answeredPart({ successes: 0, failures: 0 })).toBeNull();
  });

  it("is a table that a spreadsheet reads, and never a formula", () => {
    const csv = toCsv([group({ name: "x", requests: 2, cost: 0.5 })], () => '=cmd("a"),b');
    const [head, row] = csv.split("\r\n");
    expect(head?.split(",")[0]).toBe("name");
    expect(row).toBe(`"'=cmd(""a""),b",2,0,0,0,0,0,0,0,0,0.5`);
  });
});
