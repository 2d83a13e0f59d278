import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useMessages } from "@/i18n";
import { navigation } from "../navigation";
import { type GroupProps, PaletteItem } from "./PaletteItem";

export function GoToGroup({ run }: GroupProps) {
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
