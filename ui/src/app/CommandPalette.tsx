/** Everything by name, from anywhere: Ctrl-K or ⌘-K. Each group is a component that lists its own commands. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Copy, Languages, type LucideIcon, MonitorCog, Moon, Plus, Sun } from "lucide-react";
import { Dialog } from "radix-ui";
import type { Preferences } from "@/host";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { navigation } from "./navigation";

type PaletteProps = { open: boolean; onOpenChange(open: boolean): void };
type GroupProps = { run(act: () => void): void };

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
          <Command label={messages.palette.title} loop>
            <Command.Input
              placeholder={messages.palette.placeholder}
              className="h-12 w-full border-b bg-transparent px-4 text-md outline-none"
            />
            <Command.List className="max-h-[360px] scroll-py-2 overflow-y-auto p-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:font-medium [&_[cmdk-group-heading]]:text-ink-faint [&_[cmdk-group-heading]]:text-xs">
              <Command.Empty className="px-2 py-6 text-center text-ink-faint">{messages.palette.empty}</Command.Empty>
              <GoToGroup run={run} />
              <ActionsGroup run={run} />
              <AppearanceGroup run={run} />
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function GoToGroup({ run }: GroupProps) {
  const messages = useMessages();
  const navigate = useNavigate();
  return (
    <Command.Group heading={messages.palette.goTo}>
      {navigation.flatMap((group) =>
        group.entries.map((entry) => {
          const label = entry.label(messages);
          const prefix = group.title?.(messages);
          return (
            <PaletteItem
              key={entry.to}
              icon={entry.icon}
              label={label}
              hint={prefix}
              onSelect={() => run(() => void navigate({ to: entry.to }))}
            />
          );
        }),
      )}
    </Command.Group>
  );
}

function ActionsGroup({ run }: GroupProps) {
  const messages = useMessages();
  const navigate = useNavigate();
  const app = useRead("app_get", null);
  const url = app.data?.url;
  return (
    <Command.Group heading={messages.palette.actions}>
      <PaletteItem
        icon={Plus}
        label={messages.palette.addConnection}
        onSelect={() => run(() => void navigate({ to: "/providers/add" }))}
      />
      {url && (
        <PaletteItem
          icon={Copy}
          label={messages.palette.copyAddress}
          onSelect={() => run(() => void navigator.clipboard.writeText(url))}
        />
      )}
    </Command.Group>
  );
}

const themes: readonly { value: Preferences["theme"]; icon: LucideIcon }[] = [
  { value: "system", icon: MonitorCog },
  { value: "light", icon: Sun },
  { value: "dark", icon: Moon },
];

function AppearanceGroup({ run }: GroupProps) {
  const messages = useMessages();
  const { preferences, set } = usePreferences();
  const words = messages.settings.general;
  return (
    <Command.Group heading={messages.palette.appearance}>
      {themes
        .filter(({ value }) => value !== preferences.theme)
        .map(({ value, icon }) => (
          <PaletteItem
            key={value}
            icon={icon}
            label={messages.palette.theme(words.themes[value])}
            onSelect={() => run(() => set("theme", value))}
          />
        ))}
      {(["en", "it"] as const)
        .filter((value) => value !== preferences.language)
        .map((value) => (
          <PaletteItem
            key={value}
            icon={Languages}
            label={messages.palette.language(words.languages[value])}
            onSelect={() => run(() => set("language", value))}
          />
        ))}
    </Command.Group>
  );
}

type PaletteItemProps = { icon: LucideIcon; label: string; hint?: string | undefined; onSelect(): void };

function PaletteItem({ icon: Icon, label, hint, onSelect }: PaletteItemProps) {
  return (
    <Command.Item
      value={hint ? `${hint} ${label}` : label}
      onSelect={onSelect}
      className="flex h-9 items-center gap-3 rounded-md px-2 data-[selected=true]:bg-selected"
    >
      <Icon aria-hidden className="size-4 shrink-0 text-ink-faint" />
      <span className="truncate">{label}</span>
      {hint && <span className="ml-auto text-ink-faint text-xs">{hint}</span>}
    </Command.Item>
  );
}
