import type { ComponentProps } from "react";
import { cn } from "@/lib/cn";

const shared =
  "min-w-0 rounded-md border border-line-strong bg-canvas px-2.5 text-ink transition-colors duration-100 hover:border-ink-faint focus-visible:border-focus focus-visible:outline-offset-0 disabled:opacity-60 aria-invalid:border-blocked";

/** The look of everything one types or chooses in. Its width is up to who draws it. */
export const controlClass = `h-8 ${shared}`;

type InputProps = ComponentProps<"input"> & { mono?: boolean };

export function Input({ className = "w-full", mono, ...rest }: InputProps) {
  return (
    <input
      spellCheck={false}
      autoComplete="off"
      autoCapitalize="off"
      className={cn(controlClass, mono && "font-mono", className)}
      {...rest}
    />
  );
}

export function TextArea({ className, mono, ...rest }: ComponentProps<"textarea"> & { mono?: boolean }) {
  return (
    <textarea
      spellCheck={false}
      className={cn(shared, "min-h-16 w-full py-1.5", mono && "font-mono", className)}
      {...rest}
    />
  );
}
