import { Command } from "cmdk";
import { Languages, type LucideIcon, MonitorCog, Moon, Sun } from "lucide-react";
import type { Preferences } from "@/host";
import { usePreferences } from "@/host/preferences";
import { useMessages } from "@/i18n";
import { type GroupProps, PaletteItem } from "./PaletteItem";

const themes: readonly { value: Preferences["theme"]; icon: LucideIcon }[] = [
  { value: "system", icon: MonitorCog },
  { value: "light", icon: Sun },
  { value: "dark", icon: Moon },
];

export function AppearanceGroup({ run }: GroupProps) {
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
