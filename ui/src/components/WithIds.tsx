/** A sentence with names of models and combos in it: they are set apart as everywhere else. */
import type { ReactNode } from "react";

type WithIdsProps = {
  text: string;
  /** As they stand in the text; one that does not is passed over. */
  ids: readonly string[];
};

export function WithIds({ text, ids }: WithIdsProps) {
  const parts: ReactNode[] = [];
  let rest = text;
  for (let next = first(rest, ids); next !== null; next = first(rest, ids)) {
    const { id, at } = next;
    parts.push(
      rest.slice(0, at),
      <span key={parts.length} className="break-words font-mono text-[0.95em]">
        {id}
      </span>,
    );
    rest = rest.slice(at + id.length);
  }
  return (
    <>
      {parts}
      {rest}
    </>
  );
}

/** What an id goes on with: beside one of these, something else only looks like it. */
const PART = /[\p{L}\p{N}_/-]/u;

function placeOf(id: string, text: string): number {
  for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + 1)) {
    if (!PART.test(text[at - 1] ?? "") && !PART.test(text[at + id.length] ?? "")) return at;
  }
  return -1;
}

/** Which of them comes next; of two that begin at one place, the longer. */
function first(text: string, ids: readonly string[]): { id: string; at: number } | null {
  const found = ids
    .filter((id) => id !== "")
    .map((id) => ({ id, at: placeOf(id, text) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at || b.id.length - a.id.length);
  return found[0] ?? null;
}
