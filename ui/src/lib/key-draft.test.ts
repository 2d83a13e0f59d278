import { describe, expect, it } from "vitest";
import { key } from "@/test/world";
import { draftOf, fieldsOf, isComplete, noFields } from "./key-draft";

const NOW = Date.parse("2026-05-01T12:00:00.000Z");
const named = { ...noFields, name: " Laptop " };

describe("the draft of a key", () => {
  it("opens everything for ever unless told otherwise", () => {
    expect(draftOf(named, NOW)).toEqual({
      name: "Laptop",
      expiresAt: null,
      allowedModels: [],
      allowedConnections: [],
      scopes: [],
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
    ["that ends on no day", { ...named, expiry: "date" as const }, false],
  ])("%s is complete: %s", (_, fields, complete) => expect(isComplete(fields)).toBe(complete));
});
