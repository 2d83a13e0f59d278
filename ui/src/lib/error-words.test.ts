import { describe, expect, it } from "vitest";
import type { FieldProblem } from "@/bindings";
import { HostError } from "@/host/host";
import { dictionaries } from "@/i18n";
import { errorWords } from "./error-words";

const { en, it: italian } = dictionaries;
const said = "record 7 has no column x";
const details: FieldProblem[] = [{ field: "gateway.port", message: "Must be from 1 to 9.", code: null, values: [] }];

describe("what the gateway refused", () => {
  it.each([
    "not_found",
    "conflict",
    "invalid_request",
    "management_token_required",
    "upstream",
    "internal_error",
    "new",
  ])("is told in the person's words, the gateway's are a detail: %s", (code) => {
    for (const messages of [en, italian]) {
      const { title, help, detail } = errorWords(new HostError({ code, message: said }), messages);
      expect(`${title} ${help}`).not.toContain(said);
      expect(help).not.toBe("");
      expect(detail).toBe(said);
    }
  });

  it("needs no detail where nobody could say one", () => {
    expect(errorWords(new HostError({ code: "gateway_unreachable", message: "ECONNREFUSED" }), en).detail).toBeNull();
    expect(errorWords(new HostError({ code: "internal_error", message: " " }), en).detail).toBeNull();
  });

  it("names the fields as the screens do", () => {
    const words = errorWords(new HostError({ code: "invalid_request", message: said, details }), en);
    expect(words).toMatchObject({ help: "Port: Must be from 1 to 9.", detail: null });
  });
});
