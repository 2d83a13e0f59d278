/** A custom endpoint while it is being described. */
import type { AuthCarrier, CustomNode, CustomNodeCreate } from "@/bindings";

export type Family = "openai" | "anthropic" | "gemini";

export type NodeDraft = {
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

export const emptyDraft: NodeDraft = {
  family: "openai",
  openAiApi: "chat",
  name: "",
  baseUrl: "",
  prefix: null,
  carrier: "bearer",
  allowPrivateNetwork: false,
};

export function draftOf(node: CustomNode): NodeDraft {
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

export function prefixOf(draft: NodeDraft): string {
  return draft.prefix ?? slug(draft.name);
}

export function isComplete(draft: NodeDraft): boolean {
  return draft.name.trim() !== "" && draft.baseUrl.trim() !== "" && isPrefix(prefixOf(draft));
}

export function isPrefix(text: string): boolean {
  return /^[a-z0-9][a-z0-9-]*$/.test(text);
}

export function toNode(draft: NodeDraft): CustomNodeCreate {
  const apiType = draft.family === "openai" ? draft.openAiApi : draft.family === "anthropic" ? "messages" : "gemini";
  return {
    name: draft.name.trim(),
    prefix: prefixOf(draft),
    apiType,
    baseUrl: draft.baseUrl.trim(),
    authCarrier: draft.carrier,
    allowPrivateNetwork: draft.allowPrivateNetwork,
  };
}

function slug(text: string): string {
  return text
    .normalize("NFD")
    .replace(/\p{Diacritic}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
