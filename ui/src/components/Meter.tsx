/** A bar that fills as something is used up, and when it is full again. */
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { useNow } from "@/lib/use-now";

export type MeterTone = "ready" | "degraded" | "blocked";

const fill: Record<MeterTone, string> = { blocked: "bg-blocked", degraded: "bg-degraded", ready: "bg-ready" };

type MeterProps = {
  label: string;
  /** The used part; what is over 1 fills the whole bar. */
  used: number;
  /** The value in words. */
  text: string;
  tone: MeterTone;
  className?: string;
};

export function Meter({ label, used, text, tone, className }: MeterProps) {
  const percent = Math.round(Math.min(1, Math.max(0, used)) * 100);
  return (
    // biome-ignore lint/a11y/useSemanticElements: the element of that name does not take the colours of the states
    <span
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      aria-valuetext={text}
      className={cn("block h-2 overflow-hidden rounded-full bg-sunken", className)}
    >
      <span className={cn("block h-full rounded-full", fill[tone])} style={{ width: `${percent}%` }} />
    </span>
  );
}

/** Counts down below an hour; above, the clock time says it better. */
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
