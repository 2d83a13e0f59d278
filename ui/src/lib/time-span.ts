/** Lengths of time as a person writes them: `90 s`, `1.5 min`, `250 ms`. Settings keep milliseconds. */

export const spanUnits = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 } as const;
export type SpanUnit = keyof typeof spanUnits;

/** The unit one would speak in about lengths like this one. */
export function naturalUnit(ms: number): SpanUnit {
  if (ms > 0 && ms < spanUnits.s) return "ms";
  if (ms < 2 * spanUnits.min) return "s";
  return ms < 2 * spanUnits.h ? "min" : "h";
}

/** The largest unit in which it is a whole number. */
export function wholeUnit(ms: number): SpanUnit {
  if (ms === 0) return "s";
  return (["h", "min", "s"] as const).find((unit) => ms % spanUnits[unit] === 0) ?? "ms";
}

/** `1.5` in minutes, `90 s` or `90000 ms` whatever the unit; `null` when it is no length of time. */
export function readSpan(text: string, unit: SpanUnit): number | null {
  const [, digits, written] = /^\s*(\d+(?:[.,]\d+)?)\s*(ms|s|min|m|h)?\s*$/i.exec(text) ?? [];
  if (digits === undefined) return null;
  const named = written?.toLowerCase() ?? unit;
  const scale = spanUnits[named === "m" ? "min" : (named as SpanUnit)];
  return Math.round(Number(digits.replace(",", ".")) * scale);
}

/** The number alone, in that unit. */
export function writeSpan(ms: number, unit: SpanUnit): string {
  return String(Number((ms / spanUnits[unit]).toFixed(3)));
}
