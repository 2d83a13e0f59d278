/** The last requests, one line each: who asked for what, who answered, how it went. */
import type { RequestRow } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import { type Column, DataTable } from "./DataTable";
import { OutcomeBadge } from "./OutcomeBadge";
import { RelativeTime } from "./Time";

type RequestStripProps = { requests: readonly RequestRow[]; onOpen?(request: RequestRow): void };

export function RequestStrip({ requests, onOpen }: RequestStripProps) {
  const messages = useMessages();
  const format = useFormat();
  const words = messages.home;

  const columns: Column<RequestRow>[] = [
    {
      id: "time",
      header: words.columns.time,
      width: "104px",
      cell: (row) => <RelativeTime at={row.timestamp} className="text-ink-soft" />,
    },
    {
      id: "agent",
      header: words.columns.agent,
      width: "minmax(88px, 0.8fr)",
      cell: (row) => (
        <span title={[row.agent, row.keyName].filter(Boolean).join(" · ")}>
          {row.agent ? agentName(row.agent) : (row.keyName ?? "–")}
        </span>
      ),
    },
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(140px, 1.6fr)",
      cell: (row) => (
        <span className="font-mono" title={row.requestedModel}>
          {row.requestedModel}
        </span>
      ),
    },
    {
      id: "via",
      header: words.columns.via,
      width: "minmax(110px, 1.2fr)",
      roomy: true,
      cell: (row) => (
        <span className="text-ink-soft" title={[row.provider, row.model].filter(Boolean).join("/")}>
          {row.connectionName ?? row.provider ?? "–"}
        </span>
      ),
    },
    {
      id: "result",
      header: words.columns.result,
      width: "minmax(120px, 1fr)",
      cell: (row) => <OutcomeBadge request={row} />,
    },
    {
      id: "took",
      header: words.columns.took,
      width: "72px",
      align: "end",
      cell: (row) => (
        <span title={row.ttftMs === null ? undefined : words.firstToken(format.duration(row.ttftMs))}>
          {format.duration(row.durationMs)}
        </span>
      ),
    },
    {
      id: "tokens",
      header: words.columns.tokens,
      width: "112px",
      align: "end",
      roomy: true,
      cell: (row) => <Tokens row={row} />,
    },
  ];

  return (
    <DataTable
      label={words.lastRequests}
      rows={requests}
      columns={columns}
      rowKey={(row) => row.id}
      {...(onOpen && { onOpen })}
    />
  );
}

function Tokens({ row }: { row: RequestRow }) {
  const format = useFormat();
  const messages = useMessages();
  if (row.tokensInput === null && row.tokensOutput === null) return <span className="text-ink-faint">–</span>;
  const input = format.compact(row.tokensInput ?? 0);
  const output = format.compact(row.tokensOutput ?? 0);
  const said = messages.home.tokensInOut(input, output);
  return (
    <span className="text-ink-soft" title={row.estimated ? `${said} · ${messages.requests.story.estimated}` : said}>
      {row.estimated && "≈ "}
      {input} → {output}
    </span>
  );
}
