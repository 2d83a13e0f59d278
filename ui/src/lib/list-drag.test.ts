import { describe, expect, it } from "vitest";
import { aside, landing } from "./list-drag";

/** Rows of 50, 200 and 50 pixels. */
const rows = [
  { top: 0, height: 50 },
  { top: 50, height: 200 },
  { top: 250, height: 50 },
];

describe("dragging rows of different heights", () => {
  it("puts a row down once its middle has passed that of another", () => {
    expect(landing(rows, 0, 100)).toBe(0);
    expect(landing(rows, 0, 130)).toBe(1);
    expect(landing(rows, 0, 260)).toBe(2);
    expect(landing(rows, 2, -100)).toBe(2);
    expect(landing(rows, 2, -130)).toBe(1);
    expect(landing(rows, 2, -900)).toBe(0);
    expect(landing([], 0, 10)).toBe(0);
  });

  it("moves the others aside by the height of the dragged one", () => {
    expect([1, 2].map((index) => aside(rows, 0, 1, index))).toEqual([-50, 0]);
    expect([0, 2].map((index) => aside(rows, 1, 0, index))).toEqual([200, 0]);
  });
});
