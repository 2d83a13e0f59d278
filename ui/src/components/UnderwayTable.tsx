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
    { id: "age", header: words.columns.age, width: "72px", cell: (row) => <Age row={row} /> },
    {
      id: "agent",
      header: words.columns.agent,
      width: "minmax(88px, 0.7fr)",
      cell: ({ agent, keyName }) => (
        <span title={[agent, keyName].filter(Boolean).join(" · ")}>{agent ? agentName(agent) : (keyName ?? "–")}</span>
      ),
    },
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(150px, 2.2fr)",
      cell: ({ requestedModel }) => (
        <span className="font-mono" title={requestedModel}>
          {requestedModel}
        </span>
      ),
    },
    {
      id: "connection",
      header: words.columns.connection,
      width: "minmax(88px, 1.1fr)",
      cell: ({ connectionName, provider }) => (
        <span className="text-ink-soft" title={provider ? providerName(provider) : undefined}>
          {connectionName ?? "–"}
        </span>
      ),
    },
    { id: "doing", header: words.columns.doing, width: "var(--outcome)", cell: (row) => <Doing row={row} /> },
  ];
  return (
    // As wide as all that the log says of an outcome, so that the columns of both stand below each other.
    <div className="[--outcome:224px] roomy:[--outcome:432px]">
      <DataTable label={words.title} rows={requests} columns={columns} rowKey={idOf} glides />
    </div>
  );
}

/** How long it has been on its way. */
function Age({ row: { timestamp } }: { row: UnderwayRequest }) {
  const format = useFormat();
  const now = useNow();
  const arrived = Date.parse(timestamp);
  return (
    <time dateTime={timestamp} title={format.full(arrived)} className="text-ink-soft">
      {format.lasting(now - arrived)}
    </time>
  );
}

function Doing({ row: { timestamp, stage, since, until, attempts } }: { row: UnderwayRequest }) {
  const words = useMessages().flow;
  const format = useFormat();
  const now = useNow();
  const write = useUntil();
  const word = until ? words.waitsUntil(write(Date.parse(until))) : words.stages[stage];
  const lasts = now - Date.parse(since);
  // What it has done ever since it arrived, its age says already.
  const isLater = Date.parse(since) - Date.parse(timestamp) >= 1_000;
  return (
    <span className="inline-flex min-w-0 max-w-full items-center gap-1.5 align-bottom">
      <StatusBadge state={signs[stage]} word={word} title={words.stageHelp[stage]} />
      {isLater && lasts >= 1_000 && !until && <span className="shrink-0 text-ink-faint">{format.lasting(lasts)}</span>}
      {attempts > 1 && <span className="shrink-0 text-ink-faint text-xs">{words.attempt(attempts)}</span>}
    </span>
  );
}
