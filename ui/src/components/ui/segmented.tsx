import { ToggleGroup } from "radix-ui";
import { cn } from "@/lib/cn";
import type { Option } from "./select";

type SegmentedProps<T extends string> = {
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange(value: NoInfer<T>): void;
  className?: string;
};

/** One of a few, all visible. */
export function Segmented<T extends string>({ label, value, options, onChange, className }: SegmentedProps<T>) {
  return (
    <ToggleGroup.Root
      type="single"
      aria-label={label}
      value={value}
      onValueChange={(next) => {
        if (next) onChange(next as T);
      }}
      className={cn("inline-flex h-8 rounded-md bg-sunken p-0.5 inset-ring inset-ring-line", className)}
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          className="inline-flex items-center rounded-[5px] px-3 text-ink-soft transition-colors duration-100 hover:text-ink data-[state=on]:bg-canvas data-[state=on]:font-medium data-[state=on]:text-ink data-[state=on]:inset-ring data-[state=on]:inset-ring-line-strong"
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}
