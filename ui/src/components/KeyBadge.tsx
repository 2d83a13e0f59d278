import type { Key } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { keyState } from "@/lib/key-state";
import { useNow } from "@/lib/use-now";
import { StatusBadge } from "./StatusBadge";

/** Whether a local key opens the gateway now. */
export function KeyBadge({ apiKey }: { apiKey: Key }) {
  const words = useMessages().keys.states;
  const format = useFormat();
  const { state, word } = keyState(apiKey, useNow());
  return (
    <StatusBadge
      state={state}
      word={words[word]}
      {...(apiKey.expiresAt && { title: format.full(Date.parse(apiKey.expiresAt)) })}
    />
  );
}
