import type { Messages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";

/** `models[2].weight` is the weight of step 3; `config.queueDepth` is what that setting is called. */
export function placeWords(field: string, messages: Messages): string {
  const words = messages.combos;
  const [, step, inner = ""] = /^models\[(\d+)\]\.?(.*)$/.exec(field) ?? [];
  if (step !== undefined) {
    const fields: Readonly<Record<string, string>> = words.stepFields;
    return [words.importStep(Number(step) + 1), fields[inner] ?? inner].filter(Boolean).join(", ");
  }
  if (field.startsWith("config.")) return fieldWords(field.replace("config.", "combo."), messages).label;
  const places: Readonly<Record<string, string>> = {
    name: words.name,
    strategy: words.strategy,
    models: words.steps,
    system_message: words.systemMessage,
  };
  return places[field] ?? field;
}
