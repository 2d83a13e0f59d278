import { useFormat } from "@/i18n";
import { useNow } from "@/lib/use-now";

/** “3 min ago”, with the exact instant in the tooltip. */
export function RelativeTime({ at, className }: { at: string; className?: string }) {
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={format.full(instant)} className={className}>
      {format.relative(instant, now)}
    </time>
  );
}

/** Counts down to an absolute instant: never drifts, also after the machine slept. */
export function Countdown({ until, className }: { until: string; className?: string }) {
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(until);
  const remaining = instant - now;
  return (
    <time dateTime={until} title={format.full(instant)} className={className}>
      {remaining < 60 * 60_000 ? format.remaining(remaining) : format.clock(instant)}
    </time>
  );
}

/** How long since, moving: “3 h 12 min”. */
export function Elapsed({ since }: { since: string }) {
  const format = useFormat();
  const now = useNow();
  return <>{format.duration(Math.max(0, now - Date.parse(since)))}</>;
}
