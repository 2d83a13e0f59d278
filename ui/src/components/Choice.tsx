/** One line of a list of things to tick. */
import type { ReactNode } from "react";

type ChoiceProps = { checked: boolean; onToggle(on: boolean): void; children: ReactNode };

export function Choice({ checked, onToggle, children }: ChoiceProps) {
  return (
    <label className="flex h-8 items-center gap-2.5 px-3 hover:bg-hover">
      <input
        type="checkbox"
        checked={checked}
        onChange={(event) => onToggle(event.target.checked)}
        className="size-4 shrink-0"
      />
      {children}
    </label>
  );
}
