/** A list as one writes it in a text area: one per line, blank lines left out. */
export function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}
