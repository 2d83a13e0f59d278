/** A custom endpoint while it is being described. Its prefix and format are chosen once: connections hang on them. */
import type { AuthCarrier, Node, NodeChange, NodeDraft } from "@/bindings";

export type Family = "openai" | "anthropic" | "gemini";

export type EndpointDraft = {
  family: Family;
  /** Which of the two OpenAI formats. */
  openAiApi: "chat" | "responses";
  name: string;
  baseUrl: string;
  /** `null` follows the name. */
  prefix: string | null;
  carrier: AuthCarrier;
  allowPrivateNetwork: boolean;
};

export const carriers: Record<Family, readonly AuthCarrier[]> = {
  openai: ["bearer", "api-key", "x-api-key", "none"],
  anthropic: ["x-api-key", "bearer", "none"],
  gemini: ["x-goog-api-key", "bearer", "none"],
};

export const exampleUrl: Record<Family, string> = {
  openai: "https://llm.example.com/v1",
  anthropic: "https://llm.example.com/v1",
  gemini: "https://llm.example.com/v1beta",
};

export const emptyDraft: EndpointDraft = {
  family: "openai",
  openAiApi: "chat",
  name: "",
  baseUrl: "",
  prefix: null,
  carrier: "bearer",
  allowPrivateNetwork: false,
};

export function draftOf(node: Node): EndpointDraft {
  const family: Family = node.apiType === "messages" ? "anthropic" : node.apiType === "gemini" ? "gemini" : "openai";
  return {
    family,
    openAiApi: node.apiType === "responses" ? "responses" : "chat",
    name: node.name,
    baseUrl: node.baseUrl,
    prefix: node.prefix,
    carrier: node.authCarrier,
    allowPrivateNetwork: node.allowPrivateNetwork,
  };
}

export function prefixOf(draft: EndpointDraft): string {
  return draft.prefix ?? slug(draft.name);
}

export function isComplete(draft: EndpointDraft): boolean {
  return draft.name.trim() !== "" && draft.baseUrl.trim() !== "" && isPrefix(prefixOf(draft));
}

export function isPrefix(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]*$/.test(text);
}

export function toNode(draft: EndpointDraft): NodeDraft {
  return {
    name: draft.name.trim(),
    prefix: prefixOf(draft),
    apiType: apiType(draft),
    baseUrl: draft.baseUrl.trim(),
    authCarrier: draft.carrier,
    allowPrivateNetwork: draft.allowPrivateNetwork,
  };
}

/** What can still change once the endpoint exists. */
export function toChange(draft: EndpointDraft): NodeChange {
  const { prefix: _, apiType: __, type: ___, ...change } = toNode(draft);
  return change;
}

/** Whether the draft is still that endpoint, or has become another one. */
export function isSameEndpoint(draft: EndpointDraft, node: Node): boolean {
  return node.prefix === prefixOf(draft) && node.apiType === apiType(draft);
}

function apiType(draft: EndpointDraft): NodeDraft["apiType"] {
  switch (draft.family) {
    case "openai":
      return draft.openAiApi;
    case "anthropic":
      return "messages";
    case "gemini":
      return "gemini";
  }
}

function slug(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Diacritic}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
