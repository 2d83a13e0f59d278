import { describe, expect, it as test } from "vitest";
import { dictionaries, systemLanguage } from "./index";

type Leaf = { path: string; value: unknown };

function leaves(node: object, path = ""): Leaf[] {
  return Object.entries(node).flatMap(([key, value]) =>
    typeof value === "object" && value !== null
      ? leaves(value, `${path}.${key}`)
      : [{ path: `${path}.${key}`, value: typeof value === "function" ? say(value as Speaker) : value }],
  );
}

type Speaker = (...values: unknown[]) => string;

/** Messages with values say something whatever they are given. */
function say(message: Speaker): string {
  return message(...Array.from({ length: message.length }, () => 2));
}

describe("the dictionaries", () => {
  test("say something in every message, in both languages", () => {
    for (const dictionary of Object.values(dictionaries)) {
      const silent = leaves(dictionary).filter(({ value }) => typeof value !== "string" || value.trim() === "");
      expect(silent).toEqual([]);
    }
  });

  test("hold the same messages in both languages", () => {
    const paths = (language: "en" | "it") => leaves(dictionaries[language]).map(({ path }) => path);
    expect(paths("it").sort()).toEqual(paths("en").sort());
  });

  test("use the singular for one and the plural for the rest", () => {
    expect([0, 1, 2].map(dictionaries.en.home.ready)).toEqual([
      "0 connections ready",
      "1 connection ready",
      "2 connections ready",
    ]);
    expect([0, 1, 2].map(dictionaries.it.home.ready)).toEqual([
      "0 connessioni pronte",
      "1 connessione pronta",
      "2 connessioni pronte",
    ]);
  });

  test("follow the first language of the system that we speak", () => {
    expect(systemLanguage(["de-DE", "it-CH", "en"])).toBe("it");
    expect(systemLanguage(["de-DE"])).toBe("en");
  });
});
