import type { RequestRow } from "@/bindings";
import { useMessages } from "@/i18n";
import { outcomeState } from "@/lib/request-story";
import { StatusBadge } from "./StatusBadge";

type OutcomeBadgeProps = { request: Pick<RequestRow, "outcome" | "status" | "errorCode" | "errorSummary"> };

/** How a request ended: sign, word and code. */
export function OutcomeBadge({ request }: OutcomeBadgeProps) {
  const { outcome, status, errorCode, errorSummary } = request;
  const word = useMessages().outcomes[outcome];
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1.5 align-bottom">
      <StatusBadge
        state={outcomeState[outcome]}
        word={word}
        title={[`HTTP ${status}`, errorCode, errorSummary].filter(Boolean).join("\n")}
      />
      <span className="text-ink-faint text-xs">{status}</span>
    </span>
  );
}
