import type { Messages } from "@/i18n";
import { settingKey } from "./setting-key";

export type FieldWords = {
  readonly label: string;
  readonly help?: string;
  /** What is counted, where the gateway names no unit. */
  readonly unit?: string;
};

/** What a setting is called. A path the dictionary does not know is shown as it is: better honest than hidden. */
export function fieldWords(path: string, messages: Messages): FieldWords {
  const fields: Readonly<Record<string, FieldWords>> = {
    ...messages.settings.fields,
    ...messages.traffic.fields,
    ...messages.resilience.fields,
    ...messages.limits.fields,
    ...messages.accounts.fields,
    ...messages.flags.fields,
    ...messages.combos.fields,
    ...messages.rules.fields,
  };
  const ofCombos = path.replace(/^comboDefaults\./, "combo.");
  return fields[path] ?? fields[settingKey(path)] ?? fields[ofCombos] ?? { label: path };
}

/** What a word of the wire means among the choices of a setting; the word itself where nothing better is known. */
export function choiceWord(word: string, messages: Messages): string {
  const { combos, flags, traffic } = messages;
  const choices: Readonly<Record<string, string>> = { ...combos.choices, ...flags.choices, ...traffic.choices };
  return choices[word] ?? word;
}
