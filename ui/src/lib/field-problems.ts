/** What the gateway says is wrong with a field, in the language of the window where it is of a common kind. */
import type { FieldProblem } from "@/bindings";
import type { Messages } from "@/i18n";

type Words = Readonly<Record<string, (...values: string[]) => string>>;

/** The problem with its message in words of the dictionary; the gateway's own where it has none for it. */
export function inWords(problem: FieldProblem, { fieldProblems }: Messages): FieldProblem {
  const words: Words = fieldProblems;
  const write = problem.code === null ? undefined : words[problem.code];
  return write ? { ...problem, message: write(...problem.values) } : problem;
}
