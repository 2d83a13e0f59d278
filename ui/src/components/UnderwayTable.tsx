/** Requests on their way: since when, for whom, and what each does or waits for. Rows leave by themselves. */
import type { UnderwayRequest, UnderwayStage } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import type { State } from "@/lib/connection-state";
import { useNow } from "@/lib/use-now";
import { type Column, DataTable } from "./DataTable";
import { StatusBadge } from "./StatusBadge";
import { useUntil } from "./Time";
import { useProviderNames } from "./use-provider-names";

const signs: Record<UnderwayStage, State> = {
  choosing: "probing",
  waits_for_place: "cooling",
  waits_for_rest: "cooling",
  asking: "probing",
  answering: "ready",
};

const idOf = ({ id }: UnderwayRequest) => id;

export function UnderwayTable({ requests }: { requests: readonly UnderwayRequest[] }) {
  const words = useMessages().flow;
  const providerName = useProviderNames();
  const columns: Column<UnderwayRequest>[] = [
    { id: "since", header: words.columns.since, width: "72px", cell: (row) => <Age row={row} /> },
    {
      id: "agent",
      header: words.columns.agent,
      width: "minmax(88px, 0.9fr)",
      cell: ({ agent, keyName }) => (
        <span title={[agent, keyName].filter(Boolean).join(" · ")}>{agent ? agentName(agent) : (keyName ?? "–")}</span>
      ),
    },
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(150px, 1.8fr)",
      cell: ({ requestedModel }) => (
        <span className="font-mono" title={requestedModel}>
          {requestedModel}
        </span>
      ),
    },
    {
      id: "account",
      header: words.columns.account,
      width: "minmax(88px, 1.1fr)",
      cell: ({ connectionName, provider }) => (
        <span className="text-ink-soft" title={provider ? providerName(provider) : undefined}>
          {connectionName ?? "–"}
        </span>
      ),
    },
    { id: "doing", header: words.columns.doing, width: "minmax(180px, 1.7fr)", cell: (row) => <Doing row={row} /> },
  ];
  return <DataTable label={words.title} rows={requests} columns={columns} rowKey={idOf} glides />;
}

/** How long it has been on its way. */
function Age({ row: { timestamp } }: { row: UnderwayRequest }) {
  const format = useFormat();
  const now = useNow();
  const arrived = Date.parse(timestamp);
  return (
    <time dateTime={timestamp} title={format.full(arrived)} className="text-ink-soft">
      {format.duration(Math.floor(Math.max(0, now - arrived) / 1_000) * 1_000)}
    </time>
  );
}

function Doing({ row: { stage, since, until, attempts } }: { row: UnderwayRequest }) {
  const words = useMessages().flow;
  const format = useFormat();
  const now = useNow();
  const write = useUntil();
  const word = until ? words.waitsUntil(write(Date.parse(until))) : words.stages[stage];
  const lasts = Math.max(0, now - Date.parse(since));
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1.5 align-bottom">
      <StatusBadge state={signs[stage]} word={word} title={words.stageHelp[stage]} />
      {lasts >= 1_000 && !until && (
        <span className="shrink-0 text-ink-faint">{format.duration(Math.floor(lasts / 1_000) * 1_000)}</span>
      )}
      {attempts > 1 && <span className="shrink-0 text-ink-faint text-xs">{words.attempt(attempts)}</span>}
    </span>
  );
}
