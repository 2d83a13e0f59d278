import { expect, it } from "vitest";
import { emptyDraft, isComplete, prefixOf, toNode } from "./endpoint-draft";

it("the prefix follows the name until it is chosen", () => {
  expect(prefixOf({ ...emptyDraft, name: "Città Lab, GPU #2" })).toBe("citta-lab-gpu-2");
  expect(prefixOf({ ...emptyDraft, name: "Lab", prefix: "x" })).toBe("x");
});

it("an endpoint needs a name, an address and a prefix that can be typed", () => {
  const draft = { ...emptyDraft, name: "Lab", baseUrl: "http://10.0.0.5:8000/v1" };
  expect(isComplete(draft)).toBe(true);
  expect(isComplete({ ...draft, baseUrl: " " })).toBe(false);
  expect(isComplete({ ...draft, prefix: "No Spaces" })).toBe(false);
});

it("the family and the API make the dialect", () => {
  expect(toNode({ ...emptyDraft, openAiApi: "responses" }).apiType).toBe("responses");
  expect(toNode({ ...emptyDraft, family: "anthropic" }).apiType).toBe("messages");
  expect(toNode({ ...emptyDraft, family: "gemini" }).apiType).toBe("gemini");
});
