/** Breaks JSON into indented lines without reading its values: a number keeps every digit, and half a document is no error. */

const PIECES = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s"{}[\],:]+/gs;

export function indentJson(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  let depth = 0;
  let out = "";
  let opened = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [piece] of text.matchAll(PIECES)) {
    const closes = piece === "}" || piece === "]";
    if (closes) {
      depth = Math.max(0, depth - 1);
      if (!opened) out += line();
    } else if (opened) {
      out += line();
    }
    opened = piece === "{" || piece === "[";
    if (opened) depth += 1;
    out += piece;
    if (piece === ",") out += line();
    if (piece === ":") out += " ";
  }
  return out;
}
