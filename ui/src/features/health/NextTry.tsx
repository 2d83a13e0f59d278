import type { BreakerDetail } from "@/bindings";
import { BackIn } from "@/components/Time";
import { useMessages } from "@/i18n";
import { breakerNow, opensAt } from "@/lib/breaker";
import { useNow } from "@/lib/use-now";

/** When the next request is let through, while none is. `readAt` is when the breaker was read. */
export function NextTry({ breaker, readAt }: { breaker: BreakerDetail; readAt: number }) {
  const words = useMessages().health;
  const now = useNow();
  const state = breakerNow(breaker, readAt, now);
  const until = opensAt(breaker, readAt);
  if (state === "OPEN" && until !== null) {
    return <BackIn until={until} since={breaker.lastFailure ? Date.parse(breaker.lastFailure) : undefined} />;
  }
  if (state === "HALF_OPEN") {
    return <span className="text-probing">{breaker.probing ? words.probing : words.due}</span>;
  }
  return <span className="text-ink-faint">–</span>;
}
