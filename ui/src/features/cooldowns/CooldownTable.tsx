import { Link, useNavigate } from "@tanstack/react-router";
import type { CooldownSelection } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { type Selection, useSelectionColumn } from "@/components/Selection";
import { RING_FULL_MS, StatusBadge } from "@/components/StatusBadge";
import { useUntil } from "@/components/Time";
import { Button, buttonClass } from "@/components/ui/button";
import { useFormat, useMessages } from "@/i18n";
import { terminalWord } from "@/lib/connection-state";
import { isClearable, type LiveRow, statusSign } from "@/lib/cooldown-row";
import { errorType } from "@/lib/error-type";
import { lockReason } from "@/lib/lock-reason";
import { useNow } from "@/lib/use-now";

type CooldownTableProps = {
  rows: readonly LiveRow[];
  selection: Selection;
  nameOf(provider: string): string;
  busy: boolean;
  onClear(choice: CooldownSelection): Promise<void>;
};

const idOf = ({ id }: LiveRow) => id;

export function CooldownTable(props: CooldownTableProps) {
  const { rows, selection } = props;
  const words = useMessages().cooldowns;
  const navigate = useNavigate();
  const columns = useColumns(props);
  return (
    <DataTable
      label={words.title}
      rows={rows}
      columns={columns}
      rowKey={idOf}
      glides
      faded={({ isActive }) => !isActive}
      onToggle={(row) => isClearable(row) && selection.toggle(row.id)}
      onOpen={({ provider, id }) =>
        void navigate({
          to: "/providers/$providerId/connections/$connectionId",
          params: { providerId: provider, connectionId: id },
        })
      }
    />
  );
}

function useColumns({ selection, nameOf, busy, onClear }: CooldownTableProps): Column<LiveRow>[] {
  const messages = useMessages();
  const words = messages.cooldowns;
  const format = useFormat();
  const back = useUntil();
  const box = useSelectionColumn<LiveRow>({
    selection,
    keyOf: idOf,
    label: ({ name }) => words.select(name),
    selectable: isClearable,
  });
  return [
    box,
    {
      id: "connection",
      header: words.columns.connection,
      width: "minmax(130px, 1.5fr)",
      cell: ({ name, provider }) => (
        <span title={`${name} · ${nameOf(provider)}`}>
          <span className="font-medium">{name}</span> <span className="text-ink-faint">{nameOf(provider)}</span>
        </span>
      ),
    },
    {
      id: "status",
      header: words.columns.status,
      width: "minmax(168px, 1.1fr)",
      cell: (row) => <Status row={row} />,
    },
    {
      id: "back",
      header: messages.modelCooldowns.columns.back,
      width: "92px",
      cell: ({ until }) =>
        until === null ? (
          <span className="text-ink-faint">–</span>
        ) : (
          <span className="text-cooling" title={format.full(until)}>
            {back(until)}
          </span>
        ),
    },
    {
      id: "backoff",
      header: words.columns.backoff,
      width: "48px",
      snug: true,
      align: "end",
      cell: ({ backoffLevel }) => (
        <span
          className={backoffLevel === 0 ? "text-ink-faint" : "text-ink-soft"}
          title={words.backoffHelp(backoffLevel)}
        >
          {format.number(backoffLevel)}
        </span>
      ),
    },
    {
      id: "lastError",
      header: words.columns.lastError,
      width: "minmax(90px, 1.7fr)",
      cell: ({ lastError, lastErrorType, errorCode, lastErrorAt }) =>
        lastError || lastErrorType ? (
          <span
            className="text-ink-soft"
            title={[lastError, lastErrorType, lastErrorAt && format.full(Date.parse(lastErrorAt))]
              .filter(Boolean)
              .join("\n")}
          >
            {lastErrorType ? errorType(lastErrorType, messages) : messages.connectionHealth.otherError}{" "}
            <span className="text-ink-faint text-xs">
              {[errorCode, lastError].filter((part) => part !== null).join(" ")}
            </span>
          </span>
        ) : (
          <span className="text-ink-faint">–</span>
        ),
    },
    {
      id: "action",
      header: "",
      width: "64px",
      acts: true,
      cell: (row, current) => {
        if (row.status === "healthy") return null;
        if (!isClearable(row)) {
          const isTerminal = row.status === "terminal";
          return (
            <Link
              to="/providers/$providerId/connections/$connectionId"
              params={{ providerId: row.provider, connectionId: row.id }}
              tabIndex={current ? 0 : -1}
              aria-label={isTerminal ? words.repairOne(row.name) : messages.explain.openNamed(row.name)}
              title={isTerminal ? words.terminalHelp : undefined}
              className={buttonClass({ size: "sm", variant: "ghost" })}
            >
              {isTerminal ? words.repair : messages.explain.openConnection}
            </Link>
          );
        }
        return (
          <Button
            size="sm"
            variant="ghost"
            tabIndex={current ? 0 : -1}
            aria-label={words.clearOne(row.name)}
            disabled={busy}
            onClick={() => void onClear({ connectionIds: [row.id] })}
          >
            {words.clear}
          </Button>
        );
      },
    },
  ];
}

/** The status in words; a terminal one by its own name, locks with their number and their models in the tooltip. */
function Status({ row }: { row: LiveRow }) {
  const messages = useMessages();
  const now = useNow();
  const format = useFormat();
  const words = messages.cooldowns;
  const locks = row.lockouts.map(
    ({ model, reason, expiresAt }) =>
      `${model}: ${lockReason(reason, messages)}, ${format.clockSeconds(Date.parse(expiresAt))}`,
  );
  const word = {
    terminal: messages.state[terminalWord(row) ?? "terminal"],
    model_locked: words.lockedModels(row.lockouts.length),
    cooling_down: messages.state.cooling,
    unavailable: row.isActive ? messages.state.unavailable : messages.state.off,
    healthy: messages.state.ready,
  }[row.status];
  return (
    <span className="inline-flex max-w-full items-center gap-1.5">
      <StatusBadge
        state={row.status === "unavailable" && !row.isActive ? "terminal" : statusSign[row.status]}
        word={word}
        left={row.until === null ? 1 : Math.max(0, Math.min(1, (row.until - now) / RING_FULL_MS))}
        title={[row.status, ...locks].join("\n")}
      />
      {row.status !== "model_locked" && locks.length > 0 && (
        <span className="shrink-0 text-ink-faint text-xs" title={locks.join("\n")}>
          +{locks.length}
        </span>
      )}
    </span>
  );
}
