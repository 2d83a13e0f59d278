import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Key } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { KeyBadge } from "@/components/KeyBadge";
import { ListScreen } from "@/components/ListScreen";
import { useReportError } from "@/components/notify";
import { RelativeTime } from "@/components/Time";
import { Switch } from "@/components/ui/switch";
import { useChange, useRead } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { keyState } from "@/lib/key-state";
import { useNow } from "@/lib/use-now";
import { NearestLimit } from "./LimitUse";

const idOf = (key: Key) => key.id;

/** The keys that agents show to be let in. */
export function KeysScreen() {
  const messages = useMessages();
  const words = messages.keys;
  const navigate = useNavigate();
  const { keyId } = useParams({ strict: false });
  const keys = useRead("keys_list", null);
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const all = keys.data?.keys;
  const shown = useMemo(
    () => all?.filter((key) => [key.name, key.tail].some((text) => text.toLowerCase().includes(wanted))) ?? [],
    [all, wanted],
  );
  const now = useNow();
  const columns = useColumns();

  return (
    <>
      <ListScreen
        title={words.title}
        help={words.help}
        read={keys}
        count={all?.length}
        found={shown.length}
        filter={{ label: words.filter, value: filter, onChange: setFilter }}
        add={{ label: words.add, run: () => void navigate({ to: "/settings/keys/add" }) }}
        empty={{ title: words.emptyTitle, help: words.emptyHelp }}
      >
        {shown.length > 0 && (
          <DataTable
            label={words.title}
            rows={shown}
            columns={columns}
            rowKey={idOf}
            openKey={keyId}
            onOpen={(key) => void navigate({ to: "/settings/keys/$keyId", params: { keyId: key.id } })}
            faded={(key) => keyState(key, now).state === "terminal"}
          />
        )}
      </ListScreen>
      <Outlet />
    </>
  );
}

function useColumns(): Column<Key>[] {
  const words = useMessages().keys;
  const heads = words.columns;
  return [
    {
      id: "name",
      header: heads.name,
      width: "minmax(120px, 2.6fr)",
      cell: (key) => (
        <span className="font-medium" title={key.name}>
          {key.name}
        </span>
      ),
    },
    {
      id: "key",
      header: heads.key,
      width: "64px",
      snug: true,
      cell: (key) => (
        <code className="font-mono text-ink-soft" title={words.endsIn(key.tail)}>
          …{key.tail}
        </code>
      ),
    },
    { id: "state", header: heads.state, width: "minmax(96px, 0.7fr)", cell: (key) => <KeyBadge apiKey={key} /> },
    { id: "opens", header: heads.opens, width: "minmax(88px, 1fr)", cell: (key) => <Opens apiKey={key} /> },
    { id: "used", header: heads.used, width: "104px", cell: (key) => <NearestLimit apiKey={key} /> },
    {
      id: "created",
      header: heads.created,
      width: "96px",
      roomy: true,
      cell: (key) => <RelativeTime at={key.createdAt} className="text-ink-soft" />,
    },
    {
      id: "lastUsed",
      header: heads.lastUsed,
      width: "104px",
      snug: true,
      cell: (key) =>
        key.lastUsedAt ? (
          <RelativeTime at={key.lastUsedAt} className="text-ink-soft" />
        ) : (
          <span className="text-ink-faint">{words.never}</span>
        ),
    },
    {
      id: "expires",
      header: heads.expires,
      width: "96px",
      cell: (key) =>
        key.expiresAt ? (
          <RelativeTime at={key.expiresAt} className="text-ink-soft" />
        ) : (
          <span className="text-ink-faint">{words.never}</span>
        ),
    },
    {
      id: "active",
      header: heads.active,
      width: "52px",
      align: "end",
      cell: (key, current) => <ActiveSwitch apiKey={key} reachable={current} />,
    },
  ];
}

function ActiveSwitch({ apiKey, reachable }: { apiKey: Key; reachable: boolean }) {
  const words = useMessages().keys;
  const report = useReportError();
  const update = useChange("key_update");
  return (
    <Switch
      tabIndex={reachable ? 0 : -1}
      aria-label={words.switchOn(apiKey.name)}
      checked={update.isPending ? (update.variables.isActive ?? apiKey.isActive) : apiKey.isActive}
      onCheckedChange={(isActive) => update.mutate({ id: apiKey.id, isActive }, { onError: report })}
      className="align-middle"
    />
  );
}

/** “2 model patterns, 1 connection”, with the names in the tooltip. */
function Opens({ apiKey }: { apiKey: Key }) {
  const words = useMessages().keys;
  const format = useFormat();
  const connections = useRead("connections_list", {});
  const nameOf = (id: string) => connections.data?.connections.find((connection) => connection.id === id)?.name ?? id;
  const limits = openedBy(apiKey, words);
  const details = [
    ...apiKey.allowedModels,
    ...apiKey.allowedCombos,
    ...apiKey.allowedConnections.map(nameOf),
    ...apiKey.scopes.map((scope) => words.scope[scope].name),
  ];
  return (
    <span title={details.join("\n") || undefined} className="text-ink-soft">
      {format.list(limits)}
    </span>
  );
}

function openedBy(key: Key, words: Messages["keys"]): string[] {
  const { allowedModels, allowedCombos, allowedConnections, scopes } = key;
  const limits: string[] = [];
  if (allowedModels.length > 0) limits.push(words.models(allowedModels.length));
  if (allowedCombos.length > 0) limits.push(words.combos(allowedCombos.length));
  if (allowedConnections.length > 0) limits.push(words.connections(allowedConnections.length));
  if (limits.length === 0) limits.push(words.everything);
  if (scopes.length > 0) limits.push(words.rights(scopes.length));
  return limits;
}
