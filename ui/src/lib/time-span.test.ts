import { describe, expect, it } from "vitest";
import { naturalUnit, readSpan, wholeUnit, writeSpan } from "./time-span";

describe("lengths of time", () => {
  it.each([
    [250, "ms"],
    [0, "s"],
    [15_000, "s"],
    [60_000, "s"],
    [120_000, "min"],
    [1_800_000, "min"],
    [86_400_000, "h"],
  ] as const)("of %i ms are spoken of in %s", (ms, unit) => expect(naturalUnit(ms)).toBe(unit));

  it.each([
    ["5", "s", 5_000],
    [" 1,5 ", "min", 90_000],
    ["90 s", "min", 90_000],
    ["2m", "s", 120_000],
    ["250 ms", "s", 250],
    ["1H", "s", 3_600_000],
    ["soon", "s", null],
    ["-1", "s", null],
    ["", "s", null],
  ] as const)("%s, in %s, is %s ms", (text, unit, ms) => expect(readSpan(text, unit)).toBe(ms));

  it("are written without trailing zeros, and bounds in the unit that makes them whole", () => {
    expect(writeSpan(90_000, "min")).toBe("1.5");
    expect(writeSpan(30_000, "s")).toBe("30");
    expect([0, 1_500, 90_000, 600_000, 86_400_000].map(wholeUnit)).toEqual(["s", "ms", "s", "min", "h"]);
  });
});
