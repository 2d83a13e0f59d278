/** The live log of requests. Filters stand in the address, and so does the request whose story is open. */
import { getRouteApi, Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import type { Live, RequestRow } from "@/bindings";
import { FilterInput } from "@/components/FilterInput";
import { FirstStep } from "@/components/FirstStep";
import { notify, useReportError } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { StateSign } from "@/components/StateSign";
import { EmptyState, ErrorLine, ErrorState, SkeletonRows } from "@/components/States";
import { UnderwayTable } from "@/components/UnderwayTable";
import { Button, buttonClass } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { Select } from "@/components/ui/select";
import { useChange, useLive, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { useNow } from "@/lib/use-now";
import { RequestTable } from "./RequestTable";
import { outcomes, type RequestSearch, toFilter } from "./search";
import { useRequestLog } from "./use-request-log";

const route = getRouteApi("/requests");

export function RequestsScreen() {
  const messages = useMessages();
  const words = messages.requests;
  const search = route.useSearch();
  const { requestId } = useParams({ strict: false });
  const navigate = useNavigate();
  const { log, isPending, error, retry, older } = useRequestLog(toFilter(search));
  const filtered = Object.keys(search).length > 0;
  const isEmpty = log?.rows.length === 0;
  const live = useLive();

  const open = (request: RequestRow) =>
    void navigate({ to: "/requests/$requestId", params: { requestId: request.id }, search: true });

  return (
    <>
      <Screen
        title={words.title}
        actions={
          <>
            <InFlight count={live?.inFlight ?? 0} />
            {log && (filtered || !isEmpty) && <DeleteLog />}
          </>
        }
      >
        {(filtered || !isEmpty) && !error && <Filters search={search} />}
        {error && <ErrorState error={error} onRetry={retry} />}
        {!error && !filtered && <Underway live={live} />}
        {!error && isPending && <SkeletonRows rows={12} />}
        {!error && log && !isEmpty && (
          <>
            <RequestTable key={log.of} requests={log.rows} openId={requestId} onOpen={open} />
            {older.exist && <Older {...older} />}
          </>
        )}
        {!error && isEmpty && (filtered ? <NoneFound /> : <NoRequests />)}
      </Screen>
      <Outlet />
    </>
  );
}

function Filters({ search }: { search: RequestSearch }) {
  const messages = useMessages();
  const words = messages.requests;
  const navigate = useNavigate();
  const catalog = useRead("catalog_providers", null);
  const connections = useRead("connections_list", {});
  const combos = useRead("combos_list", {});
  const connected = new Set(connections.data?.connections.map((connection) => connection.provider));
  if (search.provider) connected.add(search.provider);
  const names = new Map(catalog.data?.providers.map((provider) => [provider.id, provider.name]));
  const comboNames = new Set(combos.data?.combos.map(({ name }) => name));
  if (search.combo) comboNames.add(search.combo);
  const narrow = (part: { [K in keyof RequestSearch]?: RequestSearch[K] | undefined }) =>
    void navigate({ to: ".", search: (current) => withoutBlanks({ ...current, ...part }), replace: true });

  return (
    <div className="mb-2 flex flex-wrap items-center gap-2">
      <TextFilter value={search.text ?? ""} onChange={(text) => narrow({ text: text || undefined })} />
      <Select
        aria-label={words.outcome}
        className="w-full max-w-40"
        value={search.outcome ?? ""}
        options={[
          { value: "", label: words.anyOutcome },
          ...outcomes.map((value) => ({ value, label: messages.outcomes[value] })),
        ]}
        onChange={(outcome) => narrow({ outcome: outcome || undefined })}
      />
      <Select
        aria-label={words.provider}
        className="w-full max-w-48"
        value={search.provider ?? ""}
        options={[
          { value: "", label: words.anyProvider },
          ...[...connected]
            .map((value) => ({ value, label: names.get(value) ?? value }))
            .sort((a, b) => a.label.localeCompare(b.label)),
        ]}
        onChange={(provider) => narrow({ provider: provider || undefined })}
      />
      {comboNames.size > 0 && (
        <Select
          aria-label={words.combo}
          className="w-full max-w-48"
          mono={search.combo !== undefined}
          value={search.combo ?? ""}
          options={[
            { value: "", label: words.anyCombo },
            ...[...comboNames].sort((a, b) => a.localeCompare(b)).map((value) => ({ value, label: value })),
          ]}
          onChange={(combo) => narrow({ combo: combo || undefined })}
        />
      )}
    </div>
  );
}

const TYPING_MS = 200;

/** Follows the typing at once, and tells the address a moment later. */
function TextFilter({ value, onChange }: { value: string; onChange(text: string): void }) {
  const words = useMessages().requests;
  const [text, setText] = useState(value);
  const told = useRef(value);
  const latest = useRef(onChange);
  latest.current = onChange;

  // Back and forward change the address without typing.
  useEffect(() => {
    if (value === told.current) return;
    told.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text.trim() === told.current) return;
    const timer = setTimeout(() => {
      told.current = text.trim();
      latest.current(told.current);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);

  return (
    <span title={words.filterHelp} className="flex">
      <FilterInput label={words.filter} value={text} onChange={setText} className="w-64" />
    </span>
  );
}

/** What answers within a moment shows up in the log; here is what one waits for. */
const SHOWN_AFTER_MS = 1_500;

function Underway({ live }: { live: Live | null }) {
  const words = useMessages().flow;
  const now = useNow();
  const shown = live?.underway.filter(({ timestamp }) => now - Date.parse(timestamp) >= SHOWN_AFTER_MS) ?? [];
  if (shown.length === 0) return null;
  return (
    <section aria-label={words.title} className="mt-5 mb-8">
      <h2 className="font-semibold text-md">{words.title}</h2>
      <UnderwayTable requests={shown} />
    </section>
  );
}

function InFlight({ count }: { count: number }) {
  const words = useMessages().requests;
  if (count === 0) return null;
  return (
    <span className="mr-2 inline-flex items-center gap-1.5 text-probing">
      <StateSign state="probing" />
      {words.inFlight(count)}
    </span>
  );
}

type OlderProps = ReturnType<typeof useRequestLog>["older"];

/** Reads on as soon as the end of the list comes near; the button is for those who do not scroll. */
function Older({ isPending, error, cursor, load }: OlderProps) {
  const words = useMessages().requests;
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(load);
  latest.current = load;
  const waiting = isPending || error !== null;
  // Every page is watched for anew: one that came at once may leave the end in sight, of which an observer says nothing.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (waiting || !end.current || !("IntersectionObserver" in globalThis)) return;
    const near = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) latest.current();
      },
      { root: end.current.closest("[data-scroll]"), rootMargin: "600px" },
    );
    near.observe(end.current);
    return () => near.disconnect();
  }, [waiting, cursor]);
  return (
    <div ref={end} className="flex h-12 items-center gap-3">
      <Button variant="ghost" size="sm" onClick={load} disabled={isPending}>
        {isPending ? words.loadingOlder : words.older}
      </Button>
      {error && <ErrorLine error={error} />}
    </div>
  );
}

function NoneFound() {
  const words = useMessages().requests;
  return (
    <EmptyState
      title={words.noneFoundTitle}
      help={words.noneFoundHelp}
      action={
        <Link to="/requests" search={{}} className={buttonClass()}>
          {words.clearFilters}
        </Link>
      }
    />
  );
}

function NoRequests() {
  const messages = useMessages();
  return <EmptyState title={messages.requests.emptyTitle} help={messages.requests.emptyHelp} action={<FirstStep />} />;
}

function DeleteLog() {
  const messages = useMessages();
  const words = messages.requests;
  const report = useReportError();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  const remove = useChange("requests_delete");
  const deleteAll = () =>
    remove.mutate(
      { all: true },
      {
        onSuccess: ({ deleted }) => {
          notify.done(words.deleted(deleted));
          void navigate({ to: "/requests", search: {} });
        },
        onError: report,
        onSettled: () => setAsking(false),
      },
    );
  return (
    <>
      <Button onClick={() => setAsking(true)}>
        <Trash2 aria-hidden />
        {words.deleteLog}
      </Button>
      <Dialog
        open={asking}
        onOpenChange={setAsking}
        title={words.deleteTitle}
        description={words.deleteHelp}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>{messages.common.cancel}</Button>
            <Button variant="danger" onClick={deleteAll} disabled={remove.isPending}>
              {words.deleteLog}
            </Button>
          </>
        }
      />
    </>
  );
}

function withoutBlanks(search: { [K in keyof RequestSearch]?: RequestSearch[K] | undefined }): RequestSearch {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value)) as RequestSearch;
}
