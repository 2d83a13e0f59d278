import type { Messages } from "@/i18n";

/** What kind of failure it was, in words; a kind the dictionary does not know as it is. */
export function errorType(type: string, { resilience: { errorTypes } }: Messages): string {
  return type in errorTypes ? errorTypes[type as keyof typeof errorTypes] : type;
}
