import { useFormat } from "@/i18n";
import { useNow } from "@/lib/use-now";
import { RING_FULL_MS, StatusBadge } from "./StatusBadge";

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
  return (
    <time dateTime={until} title={format.full(instant)} className={className}>
      {format.until(instant, now)}
    </time>
  );
}

/** The ring that empties, and what is left; the words grow no wider as they count down. */
export function BackIn({ until, since, title }: { until: number; since?: number | undefined; title?: string }) {
  const format = useFormat();
  const now = useNow();
  const whole = since === undefined ? RING_FULL_MS : until - since;
  return (
    <StatusBadge
      state="cooling"
      word={format.until(until, now)}
      left={Math.max(0, Math.min(1, (until - now) / whole))}
      title={[format.full(until), title].filter(Boolean).join("\n")}
    />
  );
}

/** How long since, moving: “3 h 12 min”. */
export function Elapsed({ since }: { since: string }) {
  const format = useFormat();
  const now = useNow();
  return <>{format.duration(Math.max(0, now - Date.parse(since)))}</>;
}
