import { describe, expect, it } from "vitest";
import { defaultWeights, factors, normalised, readWeights, weightPack, weightPacks } from "./auto-weights";

const sum = (weights: Record<string, number>) => Object.values(weights).reduce((total, weight) => total + weight, 0);

describe("weights of auto", () => {
  it("come to one whatever is written", () => {
    for (const weights of [defaultWeights, ...Object.values(weightPacks), { quota: 5, health: 3 }]) {
      expect(sum(normalised(weights))).toBeCloseTo(1, 10);
    }
    expect(normalised({ quota: 3, health: 1 }).quota).toBe(0.75);
  });

  it("are the usual ones when all are zero", () => {
    expect(normalised({ quota: 0 })).toEqual(normalised(defaultWeights));
  });

  it("of every pack are about one already", () => {
    for (const pack of Object.values(weightPacks)) expect(sum({ ...pack })).toBeCloseTo(1, 1);
  });

  it("are read without what is no factor", () => {
    expect(readWeights({ quota: 0.5, colour: 1, health: "much" })).toEqual({ quota: 0.5 });
    expect(readWeights({})).toBeNull();
    expect(readWeights(null)).toBeNull();
    expect(weightPack("ship-fast")).toBe("ship-fast");
    expect(weightPack("toString")).toBeNull();
    expect(factors).toHaveLength(16);
  });
});
