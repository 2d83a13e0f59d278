import { Command } from "cmdk";
import type { LucideIcon } from "lucide-react";
import { cn } from "@/lib/cn";

export type GroupProps = {
  /** Closes the palette, then acts. */
  run(act: () => void): void;
};

type PaletteItemProps = {
  icon: LucideIcon;
  label: string;
  hint?: string | undefined;
  /** What makes it one of a kind where labels repeat. */
  id?: string;
  /** Of many of its kind: it stands behind what fits as well. */
  minor?: boolean;
  /** Set apart, as model names are. */
  mono?: boolean;
  onSelect(): void;
};

export function PaletteItem({ icon: Icon, label, hint, id, minor = false, mono = false, onSelect }: PaletteItemProps) {
  return (
    <Command.Item
      value={[hint, label, id].filter(Boolean).join(" ")}
      keywords={minor ? [] : [label]}
      onSelect={onSelect}
      className="flex h-9 items-center gap-3 rounded-md px-2 data-[selected=true]:bg-selected"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
      <span className={cn("min-w-0 truncate", mono && "font-mono")}>{label}</span>
      {hint && <span className="ml-auto max-w-[50%] shrink-0 truncate text-ink-faint text-xs">{hint}</span>}
    </Command.Item>
  );
}
