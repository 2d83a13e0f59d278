/** What the gateway holds, by name. Connections only once something is typed: there may be hundreds. */
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { Combine, ListTree, Plug, Server } from "lucide-react";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import { type GroupProps, PaletteItem } from "./PaletteItem";

const CONNECTIONS = 20;
const REQUESTS = 5;

export function ProvidersGroup({ run }: GroupProps) {
  const messages = useMessages();
  const navigate = useNavigate();
  const catalog = useRead("catalog_providers", null);
  const connections = useRead("connections_list", {});
  const connected = new Set(connections.data?.connections.map(({ provider }) => provider));
  const shown = catalog.data?.providers.filter(({ id, custom }) => custom || connected.has(id)) ?? [];
  if (shown.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.providers}>
      {shown.map(({ id, name, alias }) => (
        <PaletteItem
          key={id}
          icon={Server}
          label={name}
          hint={`${alias}/`}
          onSelect={() => run(() => void navigate({ to: "/providers/$providerId", params: { providerId: id } }))}
        />
      ))}
    </Command.Group>
  );
}

export function ConnectionsGroup({ run, search }: GroupProps & { search: string }) {
  const messages = useMessages();
  const navigate = useNavigate();
  const catalog = useRead("catalog_providers", null);
  const connections = useRead("connections_list", {});
  const names = new Map(catalog.data?.providers.map(({ id, name }) => [id, name]));
  const wanted = search.trim().toLowerCase();
  if (!wanted) return null;
  const shown = (connections.data?.connections ?? [])
    .filter(({ name, provider }) => `${names.get(provider)} ${name}`.toLowerCase().includes(wanted))
    .slice(0, CONNECTIONS);
  if (shown.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.connections}>
      {shown.map(({ id, name, provider }) => (
        <PaletteItem
          key={id}
          id={id}
          icon={Plug}
          label={name}
          hint={names.get(provider) ?? provider}
          onSelect={() =>
            run(
              () =>
                void navigate({
                  to: "/providers/$providerId/connections/$connectionId",
                  params: { providerId: provider, connectionId: id },
                }),
            )
          }
        />
      ))}
    </Command.Group>
  );
}

export function CombosGroup({ run }: GroupProps) {
  const messages = useMessages();
  const navigate = useNavigate();
  const combos = useRead("combos_list", { includeHidden: true });
  if (!combos.data || combos.data.combos.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.combos}>
      {combos.data.combos.map(({ id, name, strategy }) => (
        <PaletteItem
          key={id}
          id={id}
          icon={Combine}
          label={name}
          mono
          hint={messages.combos.strategies[strategy]?.name ?? strategy}
          onSelect={() => run(() => void navigate({ to: "/combos/$comboId", params: { comboId: id } }))}
        />
      ))}
    </Command.Group>
  );
}

export function RequestsGroup({ run }: GroupProps) {
  const messages = useMessages();
  const format = useFormat();
  const navigate = useNavigate();
  const requests = useRead("requests_list", { limit: REQUESTS });
  if (!requests.data || requests.data.requests.length === 0) return null;
  return (
    <Command.Group heading={messages.palette.requests}>
      {requests.data.requests.map((request) => (
        <PaletteItem
          key={request.id}
          id={request.id}
          icon={ListTree}
          label={request.requestedModel}
          mono
          hint={[
            request.agent && agentName(request.agent),
            messages.outcomes[request.outcome],
            format.clockSeconds(Date.parse(request.timestamp)),
          ]
            .filter(Boolean)
            .join(" · ")}
          onSelect={() => run(() => void navigate({ to: "/requests/$requestId", params: { requestId: request.id } }))}
        />
      ))}
    </Command.Group>
  );
}
