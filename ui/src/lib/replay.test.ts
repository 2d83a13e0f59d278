import { expect, it } from "vitest";
import { replay } from "@/test/combo-world";
import { compare } from "./replay";

it("says of every figure whether less became more", () => {
  const { before, after } = replay({ failuresSeenByClient: 10, waits: 2, cost: 4 }, { waits: 3, cost: 4 });
  const of = Object.fromEntries(compare(before, after).map(({ measure, ...rest }) => [measure, rest]));
  expect(of.failuresSeenByClient).toMatchObject({ difference: -10, ratio: -1, verdict: "better" });
  expect(of.waits).toMatchObject({ difference: 1, ratio: 0.5, verdict: "worse" });
  expect(of.cost).toMatchObject({ difference: 0, verdict: "same" });
  expect(of.switches).toMatchObject({ ratio: null, verdict: "same" });
});

it("does not compare what is known on one side only", () => {
  const { before, after } = replay({ cost: null }, { cost: 4 });
  expect(compare(before, after).map(({ measure }) => measure)).not.toContain("cost");
});
