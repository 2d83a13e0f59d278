/**
 * How well an entry of the palette fits what is typed, 0 for not at all. Each word must stand in it as typed: letters that
 * are only somewhere in it, in this order, would find everything.
 *
 * `value` is all that is said of the entry; `labels` what it is called, where that shall count more.
 */
export function paletteMatch(value: string, search: string, labels: readonly string[] = []): number {
  const wanted = search.trim().toLowerCase();
  const words = wanted.split(/\s+/);
  const holds = (text: string) => words.every((word) => text.includes(word));
  const called = labels.map((label) => label.toLowerCase());
  if (called.some((label) => label.startsWith(wanted))) return 1;
  if (called.some((label) => label.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted)))) return 0.8;
  if (called.some(holds)) return 0.6;
  return holds(value.toLowerCase()) ? 0.4 : 0;
}
