import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Combine, Copy, KeyRound, Plus, ScanText, Tag } from "lucide-react";
import { notify } from "@/components/notify";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { baseUrl, dialects } from "@/lib/addresses";
import { type GroupProps, PaletteItem } from "./PaletteItem";

export function ActionsGroup({ run }: GroupProps) {
  const messages = useMessages();
  const words = messages.palette;
  const navigate = useNavigate();
  const app = useRead("app_get", null);
  const url = app.data?.url;
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(() => notify.done(`${messages.common.copied}: ${text}`));
  return (
    <Command.Group heading={words.actions}>
      <PaletteItem
        icon={Plus}
        label={words.addConnection}
        onSelect={() => run(() => void navigate({ to: "/providers/add" }))}
      />
      <PaletteItem
        icon={Combine}
        label={words.newCombo}
        onSelect={() => run(() => void navigate({ to: "/combos/new" }))}
      />
      <PaletteItem
        icon={KeyRound}
        label={words.newKey}
        onSelect={() => run(() => void navigate({ to: "/settings/keys/add" }))}
      />
      <PaletteItem
        icon={Tag}
        label={words.newName}
        onSelect={() => run(() => void navigate({ to: "/settings/names/add" }))}
      />
      <PaletteItem
        icon={ScanText}
        label={messages.rules.addAction}
        onSelect={() => run(() => void navigate({ to: "/settings/rules/add" }))}
      />
      {url && <PaletteItem icon={Copy} label={words.copyAddress} onSelect={() => run(() => copy(url))} />}
      {url &&
        dialects.map((dialect) => (
          <PaletteItem
            key={dialect}
            icon={Copy}
            label={words.copyBase(messages.dialects[dialect])}
            onSelect={() => run(() => copy(baseUrl(url, dialect)))}
          />
        ))}
    </Command.Group>
  );
}
