import { cn } from "@/lib/cn";

/** Two letters in a quiet tile: recognisable in a list without borrowing anybody's logo. */
export function ProviderMark({ name, className }: { name: string; className?: string }) {
  const letters = name
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => word[0])
    .join("");
  return (
    <span
      aria-hidden
      className={cn(
        "inline-flex size-6 shrink-0 items-center justify-center rounded-md bg-sunken font-semibold text-[10px] text-ink-soft uppercase inset-ring inset-ring-line",
        className,
      )}
    >
      {letters}
    </span>
  );
}
