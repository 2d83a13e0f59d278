/** The log, one line per request: who asked for what, who answered, how it went and what it took. */
import type { RequestRow } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { OutcomeBadge } from "@/components/OutcomeBadge";
import { TokenFlow } from "@/components/TokenFlow";
import { useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import { servedModel, servedOtherwise } from "@/lib/request-story";
import { useNow } from "@/lib/use-now";

type RequestTableProps = {
  requests: readonly RequestRow[];
  openId: string | undefined;
  onOpen(request: RequestRow): void;
};

const idOf = (row: RequestRow) => row.id;

export function RequestTable({ requests, openId, onOpen }: RequestTableProps) {
  const words = useMessages().requests;
  const columns = useColumns();
  return (
    <DataTable
      label={words.title}
      rows={requests}
      columns={columns}
      rowKey={idOf}
      onOpen={onOpen}
      openKey={openId}
      arrivals={{ label: words.newRows, hold: openId !== undefined }}
    />
  );
}

function useColumns(): Column<RequestRow>[] {
  const words = useMessages().requests;
  const format = useFormat();
  const heads = words.columns;
  return [
    { id: "time", header: heads.time, width: "72px", cell: (row) => <Arrival at={row.timestamp} /> },
    {
      id: "agent",
      header: heads.agent,
      width: "minmax(88px, 0.7fr)",
      cell: (row) => (
        <span title={[row.agent, row.keyName].filter(Boolean).join(" · ")}>
          {row.agent ? agentName(row.agent) : (row.keyName ?? "–")}
        </span>
      ),
    },
    { id: "model", header: heads.model, width: "minmax(150px, 2.2fr)", cell: (row) => <ModelCell row={row} /> },
    {
      id: "connection",
      header: heads.connection,
      width: "minmax(88px, 1.1fr)",
      cell: (row) => (
        <span
          className="flex min-w-0 text-ink-soft"
          title={[row.connectionName ?? words.nobody, row.attempts > 1 && words.attempts(row.attempts)]
            .filter(Boolean)
            .join(" · ")}
        >
          <span className="truncate">{row.connectionName ?? "–"}</span>
          {row.attempts > 1 && <span className="shrink-0 whitespace-pre text-ink-faint"> ×{row.attempts}</span>}
        </span>
      ),
    },
    {
      id: "status",
      header: heads.status,
      width: "128px",
      cell: (row) => <OutcomeBadge request={row} />,
    },
    {
      id: "firstToken",
      header: heads.firstToken,
      width: "76px",
      align: "end",
      roomy: true,
      cell: (row) => <span className="text-ink-soft">{row.ttftMs === null ? "–" : format.duration(row.ttftMs)}</span>,
    },
    {
      id: "duration",
      header: heads.duration,
      width: "80px",
      align: "end",
      cell: (row) => format.duration(row.durationMs),
    },
    {
      id: "tokens",
      header: heads.tokens,
      width: "100px",
      align: "end",
      roomy: true,
      cell: (row) => <TokenFlow request={row} />,
    },
  ];
}

const DAY_MS = 24 * 60 * 60_000;

/** A log is read by the clock; older than a day, the date says more. */
function Arrival({ at }: { at: string }) {
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={`${format.full(instant)} · ${format.relative(instant, now)}`} className="text-ink-soft">
      {now - instant < DAY_MS ? format.clockSeconds(instant) : format.day(instant)}
    </time>
  );
}

/** The name asked for; behind it the model served, when the name does not say it. */
function ModelCell({ row }: { row: RequestRow }) {
  const words = useMessages().requests;
  const served = servedOtherwise(row);
  if (!served) {
    return (
      <span className="font-mono" title={row.requestedModel}>
        {row.requestedModel}
      </span>
    );
  }
  return (
    <span className="font-mono" title={words.servedAs(row.requestedModel, servedModel(row) ?? served)}>
      {row.requestedModel} <span className="text-ink-faint">→ {served}</span>
    </span>
  );
}
