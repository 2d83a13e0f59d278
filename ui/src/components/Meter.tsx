/** How much of something is used, as a bar in the colour of how it stands. */
import { cn } from "@/lib/cn";

export type MeterTone = "ready" | "degraded" | "blocked";

type MeterProps = {
  /** A fraction; above 1 the bar is full. Nothing when nobody knows: a dashed line. */
  part: number | null;
  tone: MeterTone;
  label: string;
  /** The figure in words. */
  text: string;
  className?: string;
};

const fill: Record<MeterTone, string> = { ready: "bg-ready", degraded: "bg-degraded-fill", blocked: "bg-blocked" };

export function Meter({ part, tone, label, text, className }: MeterProps) {
  if (part === null)
    return <span aria-hidden className={cn("block h-2 rounded-full border border-dashed", className)} />;
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
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
