import { expect, it } from "vitest";
import { readJson } from "./read-json";
import { treeOf } from "./setting-tree";

it("reads JSON, or says where it stops making sense", () => {
  expect(readJson('{"a": [1]}')).toEqual({ ok: true, value: { a: [1] } });
  const broken = readJson('{\n  "a": 1,\n  oops\n}');
  expect(broken.ok).toBe(false);
  if (!broken.ok && broken.place) expect(broken.place.line).toBe(3);
});

it("joins settings by their paths", () => {
  expect(
    treeOf(
      new Map<string, number>([
        ["a.b.c", 1],
        ["a.b.d", 2],
        ["e", 3],
      ]),
    ),
  ).toEqual({ a: { b: { c: 1, d: 2 } }, e: 3 });
});
