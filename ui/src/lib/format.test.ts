import { describe, expect, it } from "vitest";
import { createFormat } from "./format";

describe("durations", () => {
  const en = createFormat("en");
  const italian = createFormat("it");

  it.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [9_949, "9.9 s"],
    [42_000, "42 s"],
    [60_000, "1 min"],
    [192_000, "3 min 12 s"],
    [18_120_000, "5 h 2 min"],
    [3 * 86_400_000, "3 days"],
  ])("%d ms is written “%s”", (ms, text) => expect(en.duration(ms)).toBe(text));

  it("are written with the language's decimal sign", () => expect(italian.duration(2_400)).toBe("2,4 s"));

  it.each([
    [42_000, "0:42"],
    [41_001, "0:42"],
    [162_000, "2:42"],
    [-5, "0:00"],
  ])("%d ms are left as “%s”", (ms, text) => expect(en.remaining(ms)).toBe(text));
});

describe("what goes on", () => {
  const en = createFormat("en");
  it.each([
    [-5, "0 s"],
    [6_900, "6 s"],
    [192_400, "3 min 12 s"],
  ])("lasts %d ms: “%s”", (ms, text) => expect(en.lasting(ms)).toBe(text));
});

describe("sums", () => {
  const en = createFormat("en");
  it.each([
    [0, "$0.00"],
    [2, "$2.00"],
    [1.5, "$1.50"],
    [0.25, "$0.25"],
    [0.0042, "$0.0042"],
    [1_234.5, "$1,234.50"],
  ])("%d dollars are written “%s”", (sum, text) => expect(en.dollars(sum)).toBe(text));
});

describe("relative time", () => {
  const en = createFormat("en");
  it.each([
    [2_000, "now"],
    [30_000, "30 sec. ago"],
    [120_000, "2 min. ago"],
    [7_200_000, "2 hr. ago"],
  ])("%d ms ago is “%s”", (elapsed, text) =>
    expect(en.relative(1_000_000_000_000 - elapsed, 1_000_000_000_000)).toBe(text),
  );

  it("writes a length of time as it was set, in the unit one would type", () => {
    expect([250, 1_000, 2_500, 90_000, 600_000].map((ms) => createFormat("en").span(ms))).toEqual([
      "250 ms",
      "1 s",
      "2.5 s",
      "90 s",
      "10 min",
    ]);
    expect(createFormat("it").span(2_500)).toBe("2,5 s");
  });
});

describe("amounts", () => {
  const british = createFormat("en-GB");
  const italian = createFormat("it");

  it("are short without being mistaken for minutes or milliseconds", () => {
    expect([999, 61_652, 10_900_000].map(british.compact)).toEqual(["999", "61.7K", "10.9M"]);
    expect(italian.compact(10_900_000)).toBe("10,9\u00a0Mln");
  });

  it("of money carry the sign of the dollar alone", () => {
    expect([0, 0.0042, 11.17].map(british.dollars)).toEqual(["$0.00", "$0.0042", "$11.17"]);
    expect(italian.dollars(11.17)).toBe("11,17\u00a0$");
  });

  it("are typed with the language's decimal sign", () => {
    expect(british.typed("2.5")).toBe("2.5");
    expect(italian.typed("2.5")).toBe("2,5");
  });
});
