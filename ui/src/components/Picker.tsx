/** A field that opens a list to be searched: its trigger, the search, and the look of what is found. */
import { Command } from "cmdk";
import { ChevronsUpDown } from "lucide-react";
import { type ReactNode, useState } from "react";
import { cn } from "@/lib/cn";
import type { FieldControl } from "./Field";
import { controlClass } from "./ui/input";
import { Popover, PopoverContent, PopoverTrigger } from "./ui/popover";

type PickerProps = {
  /** What is chosen, as it is shown. */
  chosen: ReactNode;
  /** Nothing is chosen: `chosen` stands in its place. */
  isEmpty: boolean;
  title?: string | undefined;
  /** Of the list that opens. */
  label: string;
  placeholder: string;
  /** Of the field, where no label of its own is tied to it. */
  ariaLabel?: string | undefined;
  control?: FieldControl | undefined;
  disabled?: boolean;
  className?: string | undefined;
  /** How wide and high the list is; as wide as the field otherwise. */
  look?: { content: string; list: string };
  /** The entry the keyboard starts at. */
  start?: string | undefined;
  children(search: string, close: () => void): ReactNode;
};

const asTheField = { content: "w-[max(var(--radix-popover-trigger-width),320px)]", list: "max-h-64" };

export function Picker(props: PickerProps) {
  const { chosen, isEmpty, title, label, placeholder, ariaLabel, control, disabled, className } = props;
  const { look = asTheField, start, children } = props;
  const [open, setOpen] = useState(false);
  const [search, setSearch] = useState("");
  const close = () => {
    setSearch("");
    setOpen(false);
  };
  return (
    <Popover open={open} onOpenChange={setOpen}>
      <PopoverTrigger asChild>
        <button
          type="button"
          role="combobox"
          aria-expanded={open}
          aria-label={ariaLabel}
          disabled={disabled}
          title={title}
          {...control}
          className={cn(controlClass, "flex w-full items-center justify-between gap-2 text-left", className)}
        >
          <span className={cn("min-w-0 truncate", isEmpty && "text-ink-faint")}>{chosen}</span>
          <ChevronsUpDown aria-hidden className="size-4 shrink-0 text-ink-faint" />
        </button>
      </PopoverTrigger>
      <PopoverContent aria-label={label} className={cn("overflow-hidden", look.content)}>
        <PickerList
          label={label}
          placeholder={placeholder}
          search={search}
          onSearch={setSearch}
          {...{ start }}
          className={look.list}
        >
          {children(search.trim(), close)}
        </PickerList>
      </PopoverContent>
    </Popover>
  );
}

type PickerListProps = {
  label: string;
  placeholder: string;
  search: string;
  onSearch(search: string): void;
  start?: string | undefined;
  className: string;
  children: ReactNode;
};

/** What is searched, under the place to write in. */
export function PickerList({ label, placeholder, search, onSearch, start, className, children }: PickerListProps) {
  return (
    <Command shouldFilter={false} label={label} {...(start && { defaultValue: start })}>
      <Command.Input
        value={search}
        onValueChange={onSearch}
        placeholder={placeholder}
        className="h-9 w-full border-b bg-transparent px-3 outline-none"
      />
      <Command.List className={cn("scroll-py-8 overflow-y-auto p-1", className)}>{children}</Command.List>
    </Command>
  );
}

export function PickerGroup({ heading, children }: { heading: string | undefined; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-faint [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

type PickerItemProps = { value: string; title?: string; onChoose(): void; className?: string; children: ReactNode };

export function PickerItem({ value, title, onChoose, className = "h-8 items-center", children }: PickerItemProps) {
  return (
    <Command.Item
      value={value}
      title={title}
      onSelect={onChoose}
      className={cn("flex gap-2 rounded-sm px-2 data-[selected=true]:bg-hover", className)}
    >
      {children}
    </Command.Item>
  );
}

export function PickerNote({ children }: { children: ReactNode }) {
  return <p className="px-2 py-3 text-ink-faint">{children}</p>;
}
