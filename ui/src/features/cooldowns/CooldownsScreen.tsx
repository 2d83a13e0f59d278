/** Every connection that is out of rotation: why, until when, and the way back. Filters stand in the address. */
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import { Confirm } from "@/components/Confirm";
import { FilterInput } from "@/components/FilterInput";
import { Screen } from "@/components/Screen";
import { type Selection, useSelection } from "@/components/Selection";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Button, buttonClass } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { useCooldownClear } from "@/components/use-cooldown-clear";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { byUrgency, isClearable, isOut, type LiveRow, liveRow } from "@/lib/cooldown-row";
import { useNow } from "@/lib/use-now";
import { CommonRules } from "./CommonRules";
import { CooldownTable } from "./CooldownTable";
import { type CooldownSearch, statusFilters } from "./search";

const route = getRouteApi("/monitoring/cooldowns");

export function CooldownsScreen() {
  const messages = useMessages();
  const words = messages.cooldowns;
  const search = route.useSearch();
  const read = useRead("cooldowns_list", {});
  const [filter, setFilter] = useState("");
  const names = useProviderNames();
  const rows = useRows(read.data?.connections);
  const shown = rows.filter(
    (row) =>
      (search.status ? row.status === search.status : isOut(row)) &&
      (!search.provider || row.provider === search.provider) &&
      [row.name, row.provider, names(row.provider), row.lastError ?? ""].some((text) =>
        text.toLowerCase().includes(filter.trim().toLowerCase()),
      ),
  );
  const selection = useSelection(shown.filter(isClearable).map(({ id }) => id));
  const clear = useCooldownClear();
  const narrowed = search.status !== undefined || search.provider !== undefined || filter !== "";

  return (
    <Screen title={words.title} help={words.help}>
      {read.isPending && <SkeletonRows rows={6} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && rows.length === 0 && <NoConnections />}
      {rows.length > 0 && (
        <div className="mb-2 flex flex-wrap items-center gap-2">
          <FilterInput label={words.filter} value={filter} onChange={setFilter} className="w-52" />
          <Filters rows={rows} search={search} nameOf={names} />
          <span className="ml-auto">
            <Clear shown={shown} selection={selection} search={search} nameOf={names} {...clear} />
          </span>
        </div>
      )}
      {shown.length > 0 && (
        <CooldownTable rows={shown} selection={selection} nameOf={names} busy={clear.busy} onClear={clear.clear} />
      )}
      {rows.length > 0 &&
        shown.length === 0 &&
        (filter ? (
          <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>
        ) : (
          <NoneOut narrowed={narrowed} />
        ))}
      {!read.error?.unreachable && <CommonRules />}
    </Screen>
  );
}

/** With time applied: a connection whose time is over leaves by itself. */
function useRows(connections: Parameters<typeof liveRow>[0][] | undefined): LiveRow[] {
  const now = useNow();
  return useMemo(() => (connections ?? []).map((row) => liveRow(row, now)).sort(byUrgency), [connections, now]);
}

type FiltersProps = { rows: readonly LiveRow[]; search: CooldownSearch; nameOf(provider: string): string };

function Filters({ rows, search, nameOf }: FiltersProps) {
  const words = useMessages().cooldowns;
  const navigate = useNavigate();
  const providers = new Set(rows.map(({ provider }) => provider));
  if (search.provider) providers.add(search.provider);
  const narrow = (next: CooldownSearch) => void navigate({ to: "/monitoring/cooldowns", search: next, replace: true });
  const count = (status: string) =>
    rows.filter((row) => (status === "out" ? isOut(row) : row.status === status)).length;
  return (
    <>
      <Select
        aria-label={words.status}
        className="w-full max-w-56"
        value={search.status ?? "out"}
        options={statusFilters.map((value) => ({ value, label: `${words.statuses[value]} (${count(value)})` }))}
        onChange={(status) => {
          const { status: _, ...rest } = search;
          narrow(status === "out" ? rest : { ...rest, status });
        }}
      />
      {providers.size > 1 && (
        <Select
          aria-label={words.provider}
          className="w-full max-w-44"
          value={search.provider ?? ""}
          options={[
            { value: "", label: words.anyProvider },
            ...[...providers]
              .map((value) => ({ value, label: nameOf(value) }))
              .sort((a, b) => a.label.localeCompare(b.label)),
          ]}
          onChange={(provider) => {
            const { provider: _, ...rest } = search;
            narrow(provider ? { ...rest, provider } : rest);
          }}
        />
      )}
    </>
  );
}

type ClearProps = ReturnType<typeof useCooldownClear> & {
  shown: readonly LiveRow[];
  selection: Selection;
  search: CooldownSearch;
  nameOf(provider: string): string;
};

/** One button in one place: the selection, else all of the provider in view, else all. */
function Clear({ shown, selection, search, nameOf, busy, clear }: ClearProps) {
  const words = useMessages().cooldowns;
  const [asking, setAsking] = useState(false);
  if (selection.keys.length > 0) {
    return (
      <Button
        variant="primary"
        disabled={busy}
        onClick={() => void clear({ connectionIds: [...selection.keys] }).then(selection.clear)}
      >
        {words.clearSelected(selection.keys.length)}
      </Button>
    );
  }
  const { provider } = search;
  const isPossible = shown.some(isClearable);
  const action = provider ? words.clearProvider(nameOf(provider)) : words.clearAll;
  return (
    <>
      <Button
        disabled={busy || !isPossible}
        title={isPossible ? undefined : words.nothingToClear}
        onClick={() => setAsking(true)}
      >
        {action}
      </Button>
      <Confirm
        open={asking}
        title={provider ? words.clearProviderTitle(nameOf(provider)) : words.clearAllTitle}
        help={words.clearAllHelp}
        action={action}
        isPending={busy}
        onCancel={() => setAsking(false)}
        onConfirm={() => void clear(provider ? { all: true, provider } : { all: true }).finally(() => setAsking(false))}
      />
    </>
  );
}

function NoneOut({ narrowed }: { narrowed: boolean }) {
  const words = useMessages().cooldowns;
  if (!narrowed) return <EmptyState title={words.emptyTitle} help={words.emptyHelp} />;
  return (
    <EmptyState
      title={words.noneTitle}
      help={words.noneHelp}
      action={
        <Link to="/monitoring/cooldowns" search={{}} className={buttonClass()}>
          {words.showOut}
        </Link>
      }
    />
  );
}

function NoConnections() {
  const messages = useMessages();
  const words = messages.cooldowns;
  return (
    <EmptyState
      title={words.noConnections}
      help={words.noConnectionsHelp}
      action={
        <Link to="/providers/add" className={buttonClass({ variant: "primary" })}>
          <Plus aria-hidden />
          {messages.providers.add}
        </Link>
      }
    />
  );
}
