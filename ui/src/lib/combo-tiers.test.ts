import { describe, expect, it } from "vitest";
import { modelStep } from "@/test/combo-world";
import { inOrder, keptTiers, renamed, withoutTier, withTier } from "./combo-tiers";

const steps = [modelStep("s1", "a/1"), modelStep("s2", "b/2")];
const name = (n: number) => `t${n}`;
const chain = {
  defaultTier: "a",
  tiers: {
    a: { stepId: "s1", fallbackTier: "b" },
    b: { stepId: "s2", fallbackTier: "c" },
    c: { stepId: "s3", fallbackTier: null },
  },
};

describe("tiers", () => {
  it("grow at the end of their chain, for a step that has none", () => {
    const one = withTier(null, steps, name);
    expect(one).toEqual({ defaultTier: "t1", tiers: { t1: { stepId: "s1", fallbackTier: null } } });
    expect(withTier(one, steps, name)?.tiers).toEqual({
      t1: { stepId: "s1", fallbackTier: "t2" },
      t2: { stepId: "s2", fallbackTier: null },
    });
    expect(withTier(null, [], name)).toBeNull();
  });

  it("close their chain around one that is removed", () => {
    expect(withoutTier(chain, "b")?.tiers.a).toEqual({ stepId: "s1", fallbackTier: "c" });
    expect(withoutTier(chain, "a")?.defaultTier).toBe("b");
    expect(withoutTier({ defaultTier: "a", tiers: { a: { stepId: "s1" } } }, "a")).toBeNull();
  });

  it("keep what leads to them when they get another name, and no name that is taken", () => {
    const fast = renamed(chain, "b", " fast ");
    expect(inOrder(fast)).toEqual(["a", "fast", "c"]);
    expect(renamed(chain, "b", "c")).toBe(chain);
    expect(renamed(chain, "b", " ")).toBe(chain);
  });

  it("go with their steps", () => {
    expect(keptTiers(chain, steps)?.tiers.b).toEqual({ stepId: "s2", fallbackTier: null });
    expect(keptTiers(chain, [])).toBeNull();
  });

  it("are shown in the order in which they are asked, also where they run in a circle", () => {
    const ring = {
      defaultTier: "b",
      tiers: { a: { stepId: "s1", fallbackTier: "b" }, b: { stepId: "s2", fallbackTier: "a" }, z: { stepId: "s1" } },
    };
    expect(inOrder(ring)).toEqual(["b", "a", "z"]);
  });
});
