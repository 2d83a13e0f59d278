import { describe, expect, it } from "vitest";
import { paletteMatch } from "./palette-match";

const match = (label: string, search: string) => paletteMatch(`a hint ${label} an-id`, search, [label]);

describe("what the palette finds", () => {
  it("puts what begins so before what holds it", () => {
    const found = ["Gemini", "Google Gemini", "Copy xgemx", "gem"].map((label) => match(label, "gem"));
    expect(found).toEqual([1, 0.8, 0.6, 1]);
    expect(paletteMatch("Traffic Gemini", "gem")).toBe(0.4);
  });

  it("finds nothing whose letters are merely scattered over it", () => {
    expect(match("Settings Model Names", "gem")).toBe(0);
    expect(match("Model Names", "mnm")).toBe(0);
  });

  it("takes words in any order, in either case, and looks at the hint as well", () => {
    expect(match("Switch the theme", "Theme switch")).toBe(0.6);
    expect(match("Requests", "HINT")).toBe(0.4);
    expect(match("Requests", "hint nothing")).toBe(0);
  });
});
