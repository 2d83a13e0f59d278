import { describe, expect, it } from "vitest";
import { en } from "@/i18n/en";
import { it as italian } from "@/i18n/it";
import { inWords } from "./field-problems";

const problem = (code: string | null, ...values: string[]) => ({ field: "name", message: "as sent", code, values });

describe("what is wrong with a field", () => {
  it("is said in the language of the window, with its values", () => {
    expect(inWords(problem("out_of_range", "1", "10"), en).message).toBe("Must be from 1 to 10.");
    expect(inWords(problem("out_of_range", "1", "10"), italian).message).toBe("Dev'essere da 1 a 10.");
    expect(inWords(problem("taken"), italian).message).toBe("Questo nome è già usato.");
  });

  it("is said in the gateway's words where it is of no common kind", () => {
    expect(inWords(problem(null), italian).message).toBe("as sent");
    expect(inWords(problem("of_a_newer_gateway"), italian).message).toBe("as sent");
  });
});
