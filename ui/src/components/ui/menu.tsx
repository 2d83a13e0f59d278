import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

type MenuProps = { trigger: ReactNode; children: ReactNode };

/** What is rarely wanted, behind one button. */
export function Menu({ trigger, children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          // What is chosen here is no press on the row that holds the button.
          onClick={(event) => event.stopPropagation()}
          className="z-50 min-w-44 animate-appear rounded-lg bg-raised p-1 shadow-float"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

type MenuItemProps = { onSelect(): void; disabled?: boolean; danger?: boolean; children: ReactNode };

export function MenuItem({ onSelect, disabled = false, danger = false, children }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      disabled={disabled}
      className={cn(
        "flex h-8 items-center gap-2 rounded-md px-2 outline-none data-[disabled]:opacity-50 data-[highlighted]:bg-hover [&_svg]:size-4",
        danger && "text-blocked",
      )}
    >
      {children}
    </DropdownMenu.Item>
  );
}
