import type { Value } from "@/bindings";

/** The members of a JSON object; none of anything else. */
export function membersOf(value: Value | undefined): { [name: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
