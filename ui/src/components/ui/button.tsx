import type { ComponentProps } from "react";
import { cn } from "@/lib/cn";

type Variant = "primary" | "secondary" | "ghost" | "danger";

const base =
  "inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-md font-medium transition-colors duration-100 disabled:opacity-50 aria-disabled:opacity-50 [&_svg]:size-4 [&_svg]:shrink-0";

const variants: Record<Variant, string> = {
  primary: "bg-accent text-accent-ink hover:bg-accent-hover",
  secondary: "border border-line-strong bg-raised text-ink hover:bg-hover",
  ghost: "text-ink-soft hover:bg-hover hover:text-ink",
  danger: "border border-line-strong bg-raised text-blocked hover:bg-blocked-soft",
};

const sizes = { md: "h-8 px-3", sm: "h-7 px-2 text-xs" } as const;

type Look = { variant?: Variant; size?: keyof typeof sizes };

export function buttonClass({ variant = "secondary", size = "md" }: Look = {}): string {
  return cn(base, variants[variant], sizes[size]);
}

export function Button({ variant, size, className, type = "button", ...rest }: ComponentProps<"button"> & Look) {
  return (
    <button
      type={type}
      className={cn(buttonClass({ ...(variant && { variant }), ...(size && { size }) }), className)}
      {...rest}
    />
  );
}

/** A button that is only a sign; its label is for assistive technology and the tooltip. */
export function IconButton({ label, className, ...rest }: ComponentProps<"button"> & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={cn(
        "inline-flex size-7 shrink-0 items-center justify-center rounded-md text-ink-faint transition-colors duration-100 hover:bg-hover hover:text-ink disabled:opacity-50 [&_svg]:size-4",
        className,
      )}
      {...rest}
    />
  );
}
