/** Tokens in and out of a request, one arrow below the other in a list. */
import type { RequestRow } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";

type Counted = Pick<RequestRow, "tokensInput" | "tokensOutput" | "estimated">;

export function TokenFlow({ request: { tokensInput, tokensOutput, estimated } }: { request: Counted }) {
  const format = useFormat();
  const messages = useMessages();
  if (tokensInput === null && tokensOutput === null) return <span className="text-ink-faint">–</span>;
  const [input, output] = [tokensInput ?? 0, tokensOutput ?? 0];
  const exact = messages.home.tokensInOut(format.number(input), format.number(output));
  return (
    <span className="text-ink-soft" title={estimated ? `${exact} · ${messages.requests.story.estimated}` : exact}>
      {estimated && "≈ "}
      {format.compact(input)} → <span className="inline-block min-w-7">{format.compact(output)}</span>
    </span>
  );
}
