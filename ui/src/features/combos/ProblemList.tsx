import type { FieldProblem } from "@/bindings";
import { type Messages, useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";

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

/** `models[2].weight` is the weight of step 3; `config.queueDepth` is what that setting is called. */
function placeWords(field: string, messages: Messages): string {
  const words = messages.combos;
  const [, step, rest] = /^models\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
  if (step !== undefined) return [words.importStep(Number(step) + 1), rest].filter(Boolean).join(", ");
  if (field.startsWith("config.")) return fieldWords(field.replace("config.", "combo."), messages).label;
  const places: Readonly<Record<string, string>> = {
    name: words.name,
    strategy: words.strategy,
    models: words.steps,
    system_message: words.systemMessage,
  };
  return places[field] ?? field;
}
