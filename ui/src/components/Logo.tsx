import { cn } from "@/lib/cn";

export function Logo({ className = "size-6" }: { className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 32 32" className={cn("shrink-0", className)}>
      <rect width="32" height="32" rx="7" className="fill-accent" />
      <path
        d="M7 16h6c3 0 3-6 6-6h6M13 16c3 0 3 6 6 6h6"
        className="fill-none stroke-accent-ink"
        strokeWidth="2.6"
        strokeLinecap="round"
      />
      <circle cx="8" cy="16" r="2.6" className="fill-accent-ink" />
    </svg>
  );
}
