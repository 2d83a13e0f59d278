/** Everything by name, from anywhere: Ctrl-K or ⌘-K. Each group is a component that lists its own commands. */
import { Command } from "cmdk";
import { Dialog } from "radix-ui";
import { type RefObject, useEffect, useRef, useState } from "react";
import { useMessages } from "@/i18n";
import { paletteMatch } from "@/lib/palette-match";
import { ActionsGroup } from "./palette/ActionsGroup";
import { AppearanceGroup } from "./palette/AppearanceGroup";
import { GoToGroup } from "./palette/GoToGroup";
import { CombosGroup, ConnectionsGroup, ProvidersGroup, RequestsGroup } from "./palette/RecordGroups";
import { SettingsGroup } from "./palette/SettingsGroup";

type PaletteProps = { open: boolean; onOpenChange(open: boolean): void };

export function CommandPalette({ open, onOpenChange }: PaletteProps) {
  const messages = useMessages();
  const run = (act: () => void) => {
    onOpenChange(false);
    act();
  };
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 animate-appear bg-scrim" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[14vh] left-1/2 z-50 w-[560px] max-w-[calc(100vw-32px)] -translate-x-1/2 animate-appear overflow-hidden rounded-lg bg-raised shadow-float"
        >
          <Dialog.Title className="sr-only">{messages.palette.title}</Dialog.Title>
          <Commands run={run} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Drawn anew each time it opens, so that it opens empty. */
function Commands({ run }: { run(act: () => void): void }) {
  const messages = useMessages();
  const [search, setSearch] = useState("");
  const input = usePointAtFirst(search);
  return (
    <Command label={messages.palette.title} filter={paletteMatch} loop>
      <Command.Input
        ref={input}
        value={search}
        onValueChange={setSearch}
        placeholder={messages.palette.placeholder}
        className="h-12 w-full border-b bg-transparent px-4 text-md outline-none"
      />
      <Command.List className="max-h-[360px] scroll-py-2 overflow-y-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-faint [&_[cmdk-group-heading]]:text-xs">
        <Command.Empty className="px-2 py-6 text-center text-ink-faint">{messages.palette.empty}</Command.Empty>
        <GoToGroup run={run} />
        <SettingsGroup run={run} search={search} />
        <ActionsGroup run={run} />
        <ProvidersGroup run={run} />
        <ConnectionsGroup run={run} search={search} />
        <CombosGroup run={run} />
        <RequestsGroup run={run} />
        <AppearanceGroup run={run} />
      </Command.List>
    </Command>
  );
}

/**
 * ⏎ does the first match of what is typed, until the arrow keys choose another. Left to itself the list keeps pointing at
 * an entry that the typing took away; its own Home key puts that right, for the eye and for assistive technology.
 */
function usePointAtFirst(search: string): RefObject<HTMLInputElement | null> {
  const input = useRef<HTMLInputElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new search is what changes the first match
  useEffect(() => {
    input.current?.dispatchEvent(new KeyboardEvent("keydown", { key: "Home", bubbles: true }));
  }, [search]);
  return input;
}
