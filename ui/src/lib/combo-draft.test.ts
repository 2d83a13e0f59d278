import { describe, expect, it } from "vitest";
import { combo, modelStep } from "@/test/combo-world";
import {
  changeOf,
  copyName,
  emptyDraft,
  isChanged,
  moved,
  movedAmong,
  newStep,
  readTarget,
  redirected,
  shares,
  targetOf,
  toDraft,
} from "./combo-draft";

const names = { combos: ["team", "a/b"], providerId: (written: string) => (written === "oai" ? "openai" : written) };

describe("shorthand for a step", () => {
  it.each([
    ["team", { kind: "combo-ref", comboName: "team" }],
    ["a/b", { kind: "combo-ref", comboName: "a/b" }],
    ["groq/llama-*", { kind: "provider-wildcard", providerId: "groq", modelPattern: "llama-*" }],
    [
      " openrouter/anthropic/claude ",
      { kind: "model", model: "openrouter/anthropic/claude", providerId: "openrouter" },
    ],
    ["oai/gpt", { kind: "model", model: "oai/gpt", providerId: "openai" }],
    ["gpt", null],
    ["*/gpt", null],
    ["openai/", null],
    ["", null],
  ])("%s", (text, expected) => {
    expect(readTarget(text, names)).toEqual(expected);
  });

  it("is what is written of a step that was read", () => {
    for (const text of ["team", "groq/llama-*", "openrouter/anthropic/claude"]) {
      const target = readTarget(text, names);
      expect(target && targetOf(newStep(target))).toBe(text);
    }
  });
});

describe("a step led elsewhere", () => {
  const step = modelStep("s1", "openai/gpt", { connectionId: "c1", tags: ["fast"], label: "why", weight: 4 });

  it("keeps its accounts within the provider", () => {
    const next = redirected(step, { kind: "model", model: "openai/o3", providerId: "openai" });
    expect(next).toEqual({ ...step, model: "openai/o3" });
  });

  it("loses them, but not its tags, at another provider", () => {
    const next = redirected(step, { kind: "model", model: "groq/llama", providerId: "groq" });
    expect(next).toMatchObject({ id: "s1", model: "groq/llama", tags: ["fast"], label: "why", weight: 4 });
    expect(next).toMatchObject({ connectionId: null, allowedConnectionIds: [] });
  });

  it("keeps only what every kind of step has when its kind changes", () => {
    const next = redirected(step, { kind: "combo-ref", comboName: "team" });
    expect(next).toEqual({ id: "s1", kind: "combo-ref", comboName: "team", label: "why", weight: 4, enabled: true });
  });
});

describe("what changed", () => {
  const before = toDraft(combo("team", { config: { maxRetries: 2, fusion: { minPanel: 3, judgeModel: "a/b" } } }));

  it("is nothing when nothing did", () => {
    expect(isChanged(before, { ...before, models: [] })).toBe(false);
  });

  it("names only what differs", () => {
    expect(changeOf(before, { ...before, name: "crew", isHidden: true })).toEqual({ name: "crew", isHidden: true });
  });

  it("unsets settings that were taken back, at every depth", () => {
    const after = { ...before, config: { fusion: { minPanel: 3 }, queueDepth: 5 } };
    expect(changeOf(before, after)).toEqual({
      config: { maxRetries: null, fusion: { judgeModel: null }, queueDepth: 5 },
    });
  });

  it("replaces a free map whole", () => {
    const weights = (map: Record<string, number>) => ({ ...before, config: { autoConfig: { weights: map } } });
    expect(changeOf(weights({ quota: 1, health: 1 }), weights({ quota: 1 }))).toEqual({
      config: { autoConfig: { weights: { quota: 1 } } },
    });
  });

  it("says that the system text is gone", () => {
    expect(changeOf({ ...emptyDraft, system_message: "x" }, emptyDraft)).toEqual({ system_message: null });
  });
});

describe("shares of weights", () => {
  const steps = (...weights: number[]) => weights.map((weight, index) => modelStep(`s${index}`, "a/b", { weight }));

  it("are in proportion, and zero where the weight is", () => {
    expect(shares(steps(6, 3, 1, 0))).toEqual([0.6, 0.3, 0.1, 0]);
  });

  it("are equal when all weights are zero", () => {
    expect(shares(steps(0, 0))).toEqual([0.5, 0.5]);
  });

  it("leave out what is switched off", () => {
    const [first, second] = steps(1, 1);
    expect(shares([first, { ...second, enabled: false }] as ReturnType<typeof steps>)).toEqual([1, null]);
  });
});

describe("orders", () => {
  it("move an entry to the place of another", () => {
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  });

  it("leave those out of sight where they are", () => {
    expect(movedAmong(["a", "hidden", "b", "c"], ["a", "b", "c"], 2, 1)).toEqual(["a", "hidden", "c", "b"]);
    expect(movedAmong(["a", "b"], ["a", "b"], 5, 0)).toEqual(["a", "b"]);
  });
});

describe("the name of a copy", () => {
  it("is free, and no longer than a name may be", () => {
    expect(copyName("team", [])).toBe("team-copy");
    expect(copyName("team", ["team-copy", "team-copy-2"])).toBe("team-copy-3");
    expect(copyName("x".repeat(100), [])).toHaveLength(100);
  });
});
