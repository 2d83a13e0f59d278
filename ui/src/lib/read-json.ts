/** JSON that a person pasted: its value, or where it stops making sense. */
import type { Value } from "@/bindings";

export type ReadJson =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly place: { readonly line: number; readonly column: number } | null };

export function readJson(text: string): ReadJson {
  try {
    return { ok: true, value: JSON.parse(text) as Value };
  } catch (error) {
    return { ok: false, place: placeOf(String(error), text) };
  }
}

/** Browsers say it in their own words: a line and a column, a position, or nothing. */
function placeOf(message: string, text: string): { line: number; column: number } | null {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? [];
  if (line && column) return { line: Number(line), column: Number(column) };
  const [, position] = /position (\d+)/.exec(message) ?? [];
  if (!position) return null;
  const before = text.slice(0, Number(position)).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
