import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { useNow } from "@/lib/use-now";
import { RING_FULL_MS, StatusBadge } from "./StatusBadge";

/** “3 min ago”, with the exact instant in the tooltip. */
export function RelativeTime({ at, className }: { at: string; className?: string }) {
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={format.full(instant)} className={cn("whitespace-nowrap", className)}>
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
      {format.until(instant, now).text}
    </time>
  );
}

/** When a quota or a limit is full again: counts down below an hour; above, the clock time says it better. */
export function Reset({ at }: { at: string }) {
  const words = useMessages().quota.resets;
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(at);
  const { form, text } = format.until(instant, now);
  return (
    <time dateTime={at} title={format.full(instant)}>
      {words[form](text)}
    </time>
  );
}

/** “0:42”, “at 14:32” or “1 Dec, 14:32”: a clock time is never mistaken for a countdown. */
export function useUntil(): (instant: number) => string {
  const words = useMessages().until;
  const format = useFormat();
  const now = useNow();
  return (instant) => {
    const { form, text } = format.until(instant, now);
    return form === "at" ? words.at(text) : text;
  };
}

type BackInProps = { until: number; since?: number | undefined; title?: string };

/** The ring that empties, and what is left. */
export function BackIn({ until, since, title }: BackInProps) {
  const format = useFormat();
  const write = useUntil();
  const now = useNow();
  const whole = since === undefined ? RING_FULL_MS : until - since;
  return (
    <StatusBadge
      state="cooling"
      word={write(until)}
      left={Math.max(0, Math.min(1, (until - now) / whole))}
      title={[format.full(until), title].filter(Boolean).join("\n")}
    />
  );
}

/** How long since, moving: “3 h 12 min”. */
export function Elapsed({ since }: { since: string }) {
  const format = useFormat();
  const now = useNow();
  return <>{format.lasting(now - Date.parse(since))}</>;
}
