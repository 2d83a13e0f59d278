/** Every setting by name, once something is typed: there are many. Choosing one goes to it, not only to its screen. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Settings2 } from "lucide-react";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { groupBy } from "@/lib/group-by";
import { settingKey } from "@/lib/setting-key";
import { settingPlace } from "@/lib/setting-place";
import { navigation } from "../navigation";
import { type GroupProps, PaletteItem } from "./PaletteItem";

const MOST = 20;

export function SettingsGroup({ run, search }: GroupProps & { search: string }) {
  const messages = useMessages();
  const navigate = useNavigate();
  const wanted = search.trim().toLowerCase();
  const read = useRead("settings_fields", null, { enabled: wanted !== "" });
  if (!wanted) return null;
  // What exists once per class of provider is one line on its screen, and here.
  const rows = groupBy(read.data?.fields ?? [], ({ path }) => settingKey(path));
  const found = [...rows].flatMap(([key, [field]]) => {
    const place = field && settingPlace(field.path);
    const { label, help = "" } = fieldWords(field?.path ?? key, messages);
    return place && `${label} ${help} ${key}`.toLowerCase().includes(wanted) ? [{ key, label, place }] : [];
  });
  if (found.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.settings} forceMount>
      {found.slice(0, MOST).map(({ key, label, place }) => (
        <PaletteItem
          key={key}
          id={`${key} ${wanted}`}
          icon={Settings2}
          label={label}
          hint={screenName(place, messages)}
          onSelect={() => run(() => void navigate({ to: place, hash: key }))}
        />
      ))}
    </Command.Group>
  );
}

function screenName(place: string, messages: ReturnType<typeof useMessages>): string | undefined {
  const entry = navigation.flatMap(({ entries }) => entries).find(({ to }) => to === place);
  return entry?.label(messages);
}
