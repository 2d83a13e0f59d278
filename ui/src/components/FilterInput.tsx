import { Search } from "lucide-react";
import { useEffect, useRef } from "react";
import { cn } from "@/lib/cn";
import { isTyping } from "@/lib/hooks";
import { Input } from "./ui/input";

type FilterInputProps = { label: string; value: string; onChange(value: string): void; className?: string };

/** Narrows a list; `/` goes there from anywhere on the screen, Escape empties it. */
export function FilterInput({ label, value, onChange, className = "w-60" }: FilterInputProps) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <span className={cn("relative flex", className)}>
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-faint" />
      <Input
        ref={input}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          if (value) onChange("");
          else event.currentTarget.blur();
        }}
        className="w-full pr-8 pl-8 [&::-webkit-search-cancel-button]:hidden"
      />
      {!value && (
        <kbd
          aria-hidden
          className="pointer-events-none absolute top-1.5 right-1.5 flex size-5 items-center justify-center rounded-sm border font-sans text-ink-faint text-xs"
        >
          /
        </kbd>
      )}
    </span>
  );
}
