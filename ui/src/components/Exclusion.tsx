/** What holds somebody back, in words: the mechanism with its sign, and its reason. */
import { useMessages } from "@/i18n";
import { StatusBadge } from "./StatusBadge";

type Held = { readonly mechanism: string; readonly reason: string; readonly until: string | null };

export function MechanismBadge({ exclusion: { mechanism, until } }: { exclusion: Held }) {
  const words: Readonly<Record<string, string>> = useMessages().requests.story.mechanisms;
  const state =
    mechanism === "terminal_state" || mechanism === "switched_off" ? "terminal" : until ? "cooling" : "blocked";
  return <StatusBadge state={state} word={words[mechanism] ?? mechanism} title={mechanism} />;
}

/** The sentence of a reason; one that the dictionary does not know is shown as it is. */
export function useReason(): (reason: string) => string {
  const messages = useMessages();
  const known: Readonly<Record<string, string>> = {
    ...messages.resilience.lockReasons,
    ...messages.combos.preview.reasons,
    ...messages.requests.story.reasons,
  };
  return (reason) => known[reason] ?? reason;
}
