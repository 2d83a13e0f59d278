/** The gateway's base URL as each dialect wants it. */
import type { Dialect } from "@/bindings";

export const dialects: readonly Dialect[] = ["chat", "responses", "messages", "gemini"];

export function baseUrl(url: string, dialect: Dialect): string {
  const root = url.replace(/\/+$/, "");
  switch (dialect) {
    case "chat":
    case "responses":
      return `${root}/v1`;
    case "messages":
    case "gemini":
      return root;
  }
}
