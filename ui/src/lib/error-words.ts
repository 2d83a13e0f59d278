/** What the gateway refused, in the person's language. Its own words are a detail below. */
import type { HostError } from "@/host/host";
import type { Messages } from "@/i18n";
import { fieldWords } from "./field-words";

export type ErrorWords = {
  /** What happened. */
  readonly title: string;
  /** What that means, or what helps. */
  readonly help: string;
  /** The gateway's own words, in English; nothing where they say no more. */
  readonly detail: string | null;
};

export function errorWords(error: HostError, messages: Messages): ErrorWords {
  const words = messages.errors;
  const detail = error.message.trim() || null;
  switch (error.code) {
    case "gateway_unreachable":
      return { title: words.unreachable, help: words.unreachableHelp, detail: null };
    case "not_found":
      return { title: words.notFound, help: messages.common.deletedElsewhere, detail };
    case "conflict":
      return { title: words.conflict, help: words.conflictHelp, detail };
    case "invalid_request":
      return error.details.length > 0
        ? { title: words.invalid, help: fieldProblems(error, messages), detail: null }
        : { title: words.invalid, help: words.invalidHelp, detail };
    case "management_token_required":
      return { title: words.unauthorized, help: words.unauthorizedHelp, detail };
    case "upstream":
      return { title: words.upstream, help: words.upstreamHelp, detail };
    default:
      return { title: words.internal, help: words.internalHelp, detail };
  }
}

function fieldProblems(error: HostError, messages: Messages): string {
  return error.details.map(({ field, message }) => `${fieldWords(field, messages).label}: ${message}`).join("; ");
}
