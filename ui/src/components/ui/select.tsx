import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cn } from "@/lib/cn";
import { controlClass } from "./input";

export type Option<T extends string> = { readonly value: T; readonly label: string };

type SelectProps<T extends string> = Omit<ComponentProps<"select">, "onChange" | "value"> & {
  value: T;
  options: readonly Option<T>[];
  onChange(value: NoInfer<T>): void;
  /** What is chosen is an id: a model, a combo. */
  mono?: boolean;
};

/** The system's own list: it knows every keyboard habit and never falls off the window. */
export function Select<T extends string>(props: SelectProps<T>) {
  const { value, options, onChange, mono = false, className = "w-full", ...rest } = props;
  return (
    <span className={cn("relative inline-flex min-w-0", className)}>
      <select
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        className={cn(controlClass, "w-full appearance-none truncate pr-8", mono && "font-mono")}
        {...rest}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      <ChevronDown aria-hidden className="pointer-events-none absolute top-2 right-2.5 size-4 text-ink-faint" />
    </span>
  );
}
