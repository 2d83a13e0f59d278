/** A text area of `name = number` lines: saved when it is left, unless a line is wrong, which is then named. */
import { useState } from "react";
import { useFormat, useMessages } from "@/i18n";
import { useCommit, useDraft } from "@/lib/hooks";
import { type LineProblem, type NumberLines, readNumberLines, writeNumberLines } from "@/lib/number-lines";

type Options = {
  numbers: NumberLines;
  min: number;
  max: number;
  /** How a line is written, `model = requests`. */
  form: string;
  /** What a name looks like, when not any will do. */
  name?: RegExp;
  onSave(numbers: NumberLines): void;
};

export function useNumberLines({ numbers, form, onSave, ...terms }: Options) {
  const words = useMessages().limits.lines;
  const format = useFormat();
  const [text, setText, edited] = useDraft(writeNumberLines(numbers));
  const [problem, setProblem] = useState<LineProblem | null>(null);
  const { onBlur } = useCommit(text, edited, () => {
    const read = readNumberLines(text, terms);
    setProblem(read.problem);
    if (read.numbers) onSave(read.numbers);
  });

  const say = ({ kind, line, name }: LineProblem) =>
    kind === "form"
      ? words.form(line, form)
      : kind === "range"
        ? words.range(line, format.number(terms.min), format.number(terms.max))
        : words.twice(line, name);
  return {
    /** Why it was not saved. */
    problem: problem ? say(problem) : undefined,
    area: {
      value: text,
      rows: Math.max(2, Math.min(6, text.split("\n").length)),
      onBlur,
      onChange: ({ target }: { target: { value: string } }) => setText(target.value),
    },
  };
}
