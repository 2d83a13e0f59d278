import { useNavigate } from "@tanstack/react-router";
import { Ellipsis } from "lucide-react";
import type { Connection } from "@/bindings";
import { notify, useReportError } from "@/components/notify";
import { IconButton } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";

type ProviderMenuProps = { providerId: string; connections: readonly Connection[] };

/**
 * Switches every connection of a provider on or off; undo puts back exactly those that were changed. And leads to what
 * combos do there, which stands below a list that may be long.
 */
export function ProviderMenu({ providerId, connections }: ProviderMenuProps) {
  const messages = useMessages();
  const navigate = useNavigate();
  const words = messages.providers;
  const update = useChange("connection_update");
  const report = useReportError();

  const set = async (ids: readonly string[], isActive: boolean) => {
    for (const id of ids) await update.mutateAsync({ id, isActive });
  };
  const switchAll = async (isActive: boolean) => {
    const ids = connections.filter((connection) => connection.isActive !== isActive).map(({ id }) => id);
    await set(ids, isActive);
    notify.undoable(isActive ? words.switchedOn(ids.length) : words.switchedOff(ids.length), {
      label: messages.common.undo,
      act: () => void set(ids, !isActive).catch(report),
    });
  };

  return (
    <Menu
      trigger={
        <IconButton label={messages.common.moreOptions} className="size-8">
          <Ellipsis aria-hidden />
        </IconButton>
      }
    >
      <MenuItem
        disabled={connections.every(({ isActive }) => isActive)}
        onSelect={() => void switchAll(true).catch(report)}
      >
        {words.enableAll}
      </MenuItem>
      <MenuItem
        disabled={connections.every(({ isActive }) => !isActive)}
        onSelect={() => void switchAll(false).catch(report)}
      >
        {words.disableAll}
      </MenuItem>
      <MenuItem onSelect={() => void navigate({ to: "/providers/$providerId/combos", params: { providerId } })}>
        {messages.combos.ofProvider.menu}
      </MenuItem>
    </Menu>
  );
}
