/** Every setting by name, once something is typed: there are many. Choosing one goes to it, not only to its screen. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Settings2 } from "lucide-react";
import { useRead } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { groupBy } from "@/lib/group-by";
import { settingKey } from "@/lib/setting-key";
import { settingPlace } from "@/lib/setting-place";
import { trafficSectionOf } from "@/lib/traffic-settings";
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
    if (!place) return [];
    const { label, help = "" } = fieldWords(field.path, messages);
    const under = [screenName(place, messages), sectionName(key, messages)].filter(Boolean).join(" · ");
    return `${label} ${help} ${under} ${key}`.toLowerCase().includes(wanted) ? [{ key, label, place, under }] : [];
  });
  if (found.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.settings}>
      {found.slice(0, MOST).map(({ key, label, place, under }) => (
        <PaletteItem
          key={key}
          id={`${key} ${wanted}`}
          icon={Settings2}
          minor
          label={label}
          hint={under}
          onSelect={() => run(() => void navigate({ to: place, hash: key }))}
        />
      ))}
    </Command.Group>
  );
}

/** The heading a setting stands under, where its screen has several. */
function sectionName(key: string, { resilience, limits, traffic, flags }: Messages): string | undefined {
  const inTraffic = trafficSectionOf(key);
  if (inTraffic) return traffic.sections[inTraffic].title;
  if (key.startsWith("routing.emergencyFallback.")) return flags.lastResort.title;
  const sections: Readonly<Record<string, { title: string }>> = {
    connectionCooldown: resilience.cooldown,
    providerBreaker: resilience.breaker,
    providerCooldown: resilience.providerCooldown,
    waitForCooldown: resilience.waiting,
    streamStallCooldown: resilience.stall,
    comboCooldownWait: limits.comboWaiting,
    requestQueue: limits.queue,
    quotaShareConcurrencyLimit: limits.quotaShare,
    quotaPreflight: limits.preflight,
    quota: traffic.checks,
    credentialHealthCheck: traffic.checks,
    streamRecovery: resilience.slow,
    logging: traffic.log,
  };
  return sections[key.split(".")[0] ?? ""]?.title;
}

function screenName(place: string, messages: Messages): string | undefined {
  const entry = navigation.flatMap(({ entries }) => entries).find(({ to }) => to === place);
  return place === "/combos/defaults" ? messages.combos.defaults.title : entry?.label(messages);
}
