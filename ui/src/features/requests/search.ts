/** The filters of the request log, as they stand in its address. */
import type { RequestFilter, RequestOutcome } from "@/bindings";

export type RequestSearch = { outcome?: RequestOutcome; provider?: string; combo?: string; text?: string };

export const outcomes: readonly RequestOutcome[] = ["success", "failure", "aborted"];

/** Whatever an address holds, only what can be meant is kept. */
export function readSearch(search: Record<string, unknown>): RequestSearch {
  const outcome = outcomes.find((known) => known === search.outcome);
  return {
    ...(outcome && { outcome }),
    ...(typeof search.provider === "string" && search.provider && { provider: search.provider }),
    ...(typeof search.combo === "string" && search.combo && { combo: search.combo }),
    ...((typeof search.text === "string" || typeof search.text === "number") &&
      search.text !== "" && { text: String(search.text) }),
  };
}

export function toFilter({ outcome, provider, combo, text }: RequestSearch): RequestFilter {
  return {
    ...(outcome && { outcome }),
    ...(provider && { provider }),
    ...(combo && { combo }),
    ...(text && { text }),
  };
}
