import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Connection, Connections } from "@/bindings";
import { Announcement, type Column, DataTable } from "@/components/DataTable";
import { useReportError } from "@/components/notify";
import { ConnectionBadge } from "@/components/StatusBadge";
import { RelativeTime } from "@/components/Time";
import { Switch } from "@/components/ui/switch";
import { readKey, useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { keepsOrder, strategyOf, strategyPath } from "@/lib/account-strategies";

type ConnectionTableProps = {
  providerId: string;
  connections: readonly Connection[];
  filter: string;
  /** The connection whose panel is open. */
  openId: string | undefined;
  testing: boolean;
  /** Those whose last test was in vain. */
  failed: ReadonlySet<string>;
};

/** A provider's connections in the order they are asked: drag or move by key, switch on and off, open. */
export function ConnectionTable(props: ConnectionTableProps) {
  const { providerId, connections, filter, openId, testing, failed } = props;
  const messages = useMessages();
  const words = messages.connections;
  const navigate = useNavigate();
  const order = useOrder(providerId, connections);
  const report = useReportError();
  const update = useChange("connection_update");
  const wanted = filter.trim().toLowerCase();
  const shown = order.connections.filter((connection) =>
    [connection.name, connection.defaultModel ?? "", ...connection.tags].some((text) =>
      text.toLowerCase().includes(wanted),
    ),
  );

  const setActive = (connection: Connection, isActive: boolean) =>
    update.mutate({ id: connection.id, isActive }, { onError: report });

  const columns: Column<Connection>[] = [
    {
      id: "order",
      header: "#",
      width: "28px",
      align: "end",
      cell: (connection) => <span className="text-ink-faint">{order.connections.indexOf(connection) + 1}</span>,
    },
    {
      id: "name",
      header: words.columns.name,
      width: "minmax(160px, 2fr)",
      cell: (connection) => (
        <span className="font-medium" title={connection.name}>
          {connection.name}
        </span>
      ),
    },
    {
      id: "state",
      header: words.columns.state,
      width: "minmax(170px, 1.4fr)",
      cell: (connection) => (
        <ConnectionBadge connection={connection} testing={testing} testFailed={failed.has(connection.id)} />
      ),
    },
    {
      id: "key",
      header: words.columns.key,
      width: "96px",
      cell: (connection) => <KeyTail connection={connection} />,
    },
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(120px, 1fr)",
      roomy: true,
      cell: (connection) =>
        connection.defaultModel ? (
          <span className="font-mono text-ink-soft" title={connection.defaultModel}>
            {connection.defaultModel}
          </span>
        ) : (
          <span className="text-ink-faint">{words.anyModel}</span>
        ),
    },
    {
      id: "lastUsed",
      header: words.columns.lastUsed,
      width: "104px",
      align: "end",
      cell: (connection) =>
        connection.lastUsedAt ? (
          <RelativeTime at={connection.lastUsedAt} className="text-ink-soft" />
        ) : (
          <span className="text-ink-faint">{messages.common.never}</span>
        ),
    },
    {
      id: "active",
      header: words.columns.active,
      width: "44px",
      align: "end",
      cell: (connection, current) => (
        <Switch
          aria-label={words.switchOn(connection.name)}
          tabIndex={current ? 0 : -1}
          checked={connection.isActive}
          onCheckedChange={(isActive) => setActive(connection, isActive)}
          className="align-middle"
        />
      ),
    },
  ];

  return (
    <>
      {connections.length > 1 && <OrderHelp providerId={providerId} />}
      {shown.length > 0 ? (
        <DataTable
          label={words.title}
          rows={shown}
          columns={columns}
          rowKey={(connection) => connection.id}
          faded={(connection) => !connection.isActive}
          openKey={openId}
          onOpen={(connection) =>
            void navigate({
              to: "/providers/$providerId/connections/$connectionId",
              params: { providerId, connectionId: connection.id },
            })
          }
          onToggle={(connection) => setActive(connection, !connection.isActive)}
          reorder={
            wanted === "" && shown.length > 1
              ? {
                  label: (connection, position) => words.handle(connection.name, position, shown.length),
                  move: order.move,
                }
              : undefined
          }
        />
      ) : (
        <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>
      )}
      <Announcement text={order.announcement} />
    </>
  );
}

/** Whether the order alone decides is up to how the accounts take turns. */
function OrderHelp({ providerId }: { providerId: string }) {
  const words = useMessages().connections;
  const settings = useRead("settings_fields", null);
  const field = settings.data?.fields.find(({ path }) => path === strategyPath);
  const decides = !field || keepsOrder(strategyOf(field, providerId));
  return <p className="mb-3 text-ink-faint text-xs">{decides ? words.orderHelp : words.turnsHelp}</p>;
}

/** The order as seen: moved at once, put back when the gateway refuses. */
function useOrder(provider: string, saved: readonly Connection[]) {
  const messages = useMessages();
  const client = useQueryClient();
  const report = useReportError();
  const save = useChange("connections_order");
  const [announcement, setAnnouncement] = useState("");

  const move = (from: number, to: number) => {
    const connections = [...saved];
    const [moved] = connections.splice(from, 1);
    if (!moved) return;
    connections.splice(to, 0, moved);
    const key = readKey("connections_list", { provider });
    client.setQueryData<Connections>(key, { connections });
    setAnnouncement(messages.connections.moved(moved.name, to + 1, connections.length));
    save.mutate(
      { provider, connectionIds: connections.map(({ id }) => id) },
      {
        onError: (error) => {
          report(error);
          void client.invalidateQueries({ queryKey: key });
        },
      },
    );
  };
  return { connections: saved, move, announcement };
}

function KeyTail({ connection }: { connection: Connection }) {
  const words = useMessages().connections;
  // The end of a short key would give too much of it away.
  if (connection.hasCredential && !connection.credentialTail) {
    return <span className="text-ink-faint">{words.keyStored}</span>;
  }
  if (!connection.credentialTail) {
    return connection.authType === "none" ? (
      <span className="text-ink-faint">{words.noKeyNeeded}</span>
    ) : (
      <span className="text-blocked">{words.noKey}</span>
    );
  }
  return (
    <span className="font-mono text-ink-soft" title={words.keyTail(connection.credentialTail)}>
      …{connection.credentialTail}
    </span>
  );
}
