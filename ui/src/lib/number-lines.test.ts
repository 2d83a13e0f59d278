import { describe, expect, it } from "vitest";
import { readNumberLines, writeNumberLines } from "./number-lines";

const caps = { min: 1, max: 10_000 };

describe("numbers by name", () => {
  it.each([
    ["", {}],
    ["glm-5=1", { "glm-5": 1 }],
    ["  glm-5 = 1 \n\n glm-4.7=3", { "glm-5": 1, "glm-4.7": 3 }],
    ["a=b = 2", { "a=b": 2 }],
  ])("are read from %j", (text, expected) => {
    expect(readNumberLines(text, caps)).toEqual({ numbers: expected, problem: null });
  });

  // QS-17
  it.each([
    ["glm-5", 1, "form"],
    ["= 1", 1, "form"],
    ["glm-5 =", 1, "form"],
    ["a = 1\nglm-5 = 0", 2, "range"],
    ["\n\nglm-5 = -1", 3, "range"],
    ["glm-5 = 1.5", 1, "range"],
    ["glm-5 = two", 1, "range"],
    ["glm-5 = 10001", 1, "range"],
    ["glm-5 = 1\nglm-5 = 2", 2, "twice"],
  ])("are refused in %j at the line that is wrong", (text, line, kind) => {
    expect(readNumberLines(text, caps)).toMatchObject({ numbers: null, problem: { line, kind } });
  });

  it("have names of the form that is asked for", () => {
    const name = /^[^/\s]+\/\S+$/;
    expect(readNumberLines("claude/7d:opus = 0", { min: 0, max: 100, name }).numbers).toEqual({ "claude/7d:opus": 0 });
    expect(readNumberLines("weekly = 5", { min: 0, max: 100, name }).problem).toMatchObject({ line: 1, kind: "form" });
  });

  it("are written as they are read", () => {
    expect(writeNumberLines({ "glm-5": 1, "glm-4.7": 3 })).toBe("glm-5 = 1\nglm-4.7 = 3");
  });
});
