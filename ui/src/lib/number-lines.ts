/** Numbers by name as a person writes them: `name = number`, one per line. */

export type NumberLines = Readonly<Record<string, number>>;

type Terms = {
  min: number;
  max: number;
  /** What a name looks like, when not any will do. */
  name?: RegExp;
};

export type LineProblem = {
  /** 1 for the first. */
  readonly line: number;
  readonly name: string;
  readonly kind: "form" | "range" | "twice";
};

type Read =
  | { readonly numbers: NumberLines; readonly problem: null }
  | { readonly numbers: null; readonly problem: LineProblem };

/** The numbers, or the first line that is wrong. Blank lines are passed over; a name may hold further equals signs. */
export function readNumberLines(text: string, { min, max, name: form = /\S/ }: Terms): Read {
  const numbers = new Map<string, number>();
  for (const [index, written] of text.split("\n").entries()) {
    if (written.trim() === "") continue;
    const split = written.lastIndexOf("=");
    const name = written.slice(0, Math.max(split, 0)).trim();
    const digits = written.slice(split + 1).trim();
    const wrong = (kind: LineProblem["kind"]): Read => ({ numbers: null, problem: { line: index + 1, name, kind } });
    if (split < 0 || !form.test(name) || digits === "") return wrong("form");
    const number = Number(digits);
    if (!Number.isInteger(number) || number < min || number > max) return wrong("range");
    if (numbers.has(name)) return wrong("twice");
    numbers.set(name, number);
  }
  return { numbers: Object.fromEntries(numbers), problem: null };
}

export function writeNumberLines(numbers: NumberLines): string {
  return Object.entries(numbers)
    .map(([name, number]) => `${name} = ${number}`)
    .join("\n");
}
