import type { Key } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { limitsOf, refusedBy } from "@/lib/key-limits";
import { keyState } from "@/lib/key-state";
import { useNow } from "@/lib/use-now";
import { StatusBadge } from "./StatusBadge";

/** Whether a local key opens the gateway now, and if not for good, until when. */
export function KeyBadge({ apiKey }: { apiKey: Key }) {
  const words = useMessages().keys.states;
  const format = useFormat();
  const now = useNow();
  const { state, word } = keyState(apiKey, now);
  const until = word === "spent" ? refusedBy(limitsOf(apiKey, now))?.resetsAt : apiKey.expiresAt;
  return <StatusBadge state={state} word={words[word]} {...(until && { title: format.full(Date.parse(until)) })} />;
}
