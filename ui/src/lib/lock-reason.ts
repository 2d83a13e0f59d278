import type { Messages } from "@/i18n";

/** Why a model is locked, in words; a reason the dictionary does not know as it is. */
export function lockReason(reason: string, { resilience: { lockReasons } }: Messages): string {
  return reason in lockReasons ? lockReasons[reason as keyof typeof lockReasons] : reason;
}
