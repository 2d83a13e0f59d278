/** What holds somebody back, in words: the mechanism with its sign, and its reason. */
import { useMessages } from "@/i18n";
import type { State } from "@/lib/connection-state";
import { StatusBadge } from "./StatusBadge";

type Held = { readonly mechanism: string; readonly reason: string; readonly until: string | null };

export function MechanismBadge({ exclusion: { mechanism, until } }: { exclusion: Held }) {
  const words: Readonly<Record<string, string>> = useMessages().requests.story.mechanisms;
  return <StatusBadge state={stateOf(mechanism, until)} word={words[mechanism] ?? mechanism} title={mechanism} />;
}

function stateOf(mechanism: string, until: string | null): State {
  if (mechanism === "terminal_state" || mechanism === "switched_off") return "terminal";
  // A provider that is stopped looks the same wherever it is met.
  return until && mechanism !== "circuit_breaker" ? "cooling" : "blocked";
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
