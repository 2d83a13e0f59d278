/** What the gateway refused, in the person's language. Its own words come second. */
import type { HostError } from "@/host/host";
import type { Messages } from "@/i18n";

export type ErrorWords = { readonly title: string; readonly help: string };

export function errorWords(error: HostError, messages: Messages): ErrorWords {
  const words = messages.errors;
  switch (error.code) {
    case "gateway_unreachable":
      return { title: words.unreachable, help: words.unreachableHelp };
    case "not_found":
      return { title: words.notFound, help: error.message };
    case "conflict":
      return { title: words.conflict, help: error.message };
    case "invalid_request":
      return { title: words.invalid, help: fieldProblems(error) || error.message };
    case "management_token_required":
      return { title: words.unauthorized, help: error.message };
    default:
      return { title: words.internal, help: error.message };
  }
}

function fieldProblems(error: HostError): string {
  return error.details.map(({ field, message }) => `${field}: ${message}`).join("; ");
}
