import { describe, expect, it } from "vitest";
import { escalation } from "./escalation";

describe("a growing lock", () => {
  it.each([
    ["doubles up to the ceiling", { base: 2, ceiling: 30, steps: 10, doubles: true }, [2, 4, 8, 16, 30]],
    ["stops growing with its steps", { base: 2, ceiling: 30, steps: 2, doubles: true }, [2, 4, 8]],
    ["stays as it is when it does not double", { base: 2, ceiling: 30, steps: 10, doubles: false }, [2]],
    ["is never longer than the ceiling", { base: 50, ceiling: 30, steps: 3, doubles: true }, [30]],
    ["of nothing stays nothing", { base: 0, ceiling: 30, steps: 3, doubles: true }, [0]],
  ] as const)("%s", (_, ladder, lengths) => expect(escalation(ladder)).toEqual(lengths));
});
