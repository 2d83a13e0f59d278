/** The last requests, one line each: who asked for what, who answered, how it went. */
import type { RequestRow } from "@/bindings";
import { useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import { type Column, DataTable } from "./DataTable";
import { OutcomeBadge } from "./OutcomeBadge";
import { RelativeTime } from "./Time";
import { TokenFlow } from "./TokenFlow";

type RequestStripProps = { requests: readonly RequestRow[]; onOpen?(request: RequestRow): void };

export function RequestStrip({ requests, onOpen }: RequestStripProps) {
  const messages = useMessages();
  const format = useFormat();
  const words = messages.home;

  const columns: Column<RequestRow>[] = [
    {
      id: "time",
      header: words.columns.time,
      width: "88px",
      cell: (row) => <RelativeTime at={row.timestamp} className="text-ink-soft" />,
    },
    {
      id: "agent",
      header: words.columns.agent,
      width: "minmax(88px, 0.7fr)",
      cell: (row) => (
        <span title={[row.agent, row.keyName].filter(Boolean).join(" · ")}>
          {row.agent ? agentName(row.agent) : (row.keyName ?? "–")}
        </span>
      ),
    },
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(140px, 2fr)",
      cell: (row) => (
        <span className="font-mono" title={row.requestedModel}>
          {row.requestedModel}
        </span>
      ),
    },
    {
      id: "via",
      header: words.columns.via,
      width: "minmax(110px, 1.1fr)",
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
      width: "136px",
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
      cell: (row) => <TokenFlow request={row} />,
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
