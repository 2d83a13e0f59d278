import type { FieldProblem } from "@/bindings";
import { useMessages } from "@/i18n";
import { placeWords } from "./place-words";

type ProblemListProps = { title: string; problems: readonly FieldProblem[]; quiet?: boolean };

/** What the gateway says about a combo, each with the place it is about. */
export function ProblemList({ title, problems, quiet = false }: ProblemListProps) {
  const messages = useMessages();
  return (
    <div role={quiet ? undefined : "alert"}>
      <p className={quiet ? "text-ink-soft" : "font-medium text-blocked"}>{title}</p>
      <ul className="mt-1 flex flex-col gap-1">
        {problems.map(({ field, message }) => (
          <li key={`${field} ${message}`} className="select-text break-words" title={field}>
            <span className="text-ink-faint">{placeWords(field, messages)}:</span> {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
