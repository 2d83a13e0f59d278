import { describe, expect, it } from "vitest";
import { indentJson } from "./indent-json";

describe("JSON in lines", () => {
  it("is indented and keeps every digit", () => {
    expect(indentJson('{"a":9007199254740993,"b":[1,{"c":"x, y: {z}"}],"d":{},"e":[]}')).toBe(
      '{\n  "a": 9007199254740993,\n  "b": [\n    1,\n    {\n      "c": "x, y: {z}"\n    }\n  ],\n  "d": {},\n  "e": []\n}',
    );
  });

  it("leaves quotes inside words alone", () => {
    expect(indentJson('["a \\"b\\" c","\\\\"]')).toBe('[\n  "a \\"b\\" c",\n  "\\\\"\n]');
  });

  it("takes half a document, and no JSON at all, as it is", () => {
    expect(indentJson('{"a":"hel… <9 bytes more>')).toBe('{\n  "a": "hel… <9 bytes more>');
    expect(indentJson("data: {}")).toBe("data: {}");
    expect(indentJson("")).toBe("");
  });
});
