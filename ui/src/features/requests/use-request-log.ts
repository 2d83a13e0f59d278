/**
 * The request log as far as it was read. The newest page follows the gateway's events; older pages are fetched while
 * scrolling and then kept, because a finished request never changes.
 */
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { RequestFilter, RequestRow, Requests } from "@/bindings";
import { type HostError, useHost } from "@/host";
import { useRead } from "@/host/queries";

export const PAGE = 100;

type Log = {
  /** The filter these rows passed. */
  readonly of: string;
  readonly rows: readonly RequestRow[];
  /** Where the next older page begins; nothing at the end. */
  readonly cursor: string | null;
  readonly newest: Requests;
};

export function useRequestLog(filter: RequestFilter) {
  const host = useHost();
  const of = JSON.stringify(filter);
  const newest = useRead("requests_list", { ...filter, limit: PAGE }, { keepPrevious: true });
  const [log, setLog] = useState<Log | null>(null);
  if (newest.data && !newest.isPlaceholderData && (log?.of !== of || log.newest !== newest.data)) {
    setLog(withNewest(log?.of === of ? log : null, of, newest.data));
  }

  const older = useMutation<Requests, HostError, string>({
    mutationFn: (cursor) => host.call("requests_list", { ...filter, limit: PAGE, cursor }),
    onSuccess: (page, cursor) => setLog((current) => withOlder(current, of, cursor, page)),
  });
  const cursor = log?.of === of ? log.cursor : null;

  return {
    log,
    isPending: log === null && newest.isPending,
    error: newest.error,
    retry: () => void newest.refetch(),
    older: {
      exist: cursor !== null,
      /** Where they begin; another one after each page. */
      cursor,
      isPending: older.isPending,
      error: older.error,
      load: () => {
        if (cursor !== null && !older.isPending) older.mutate(cursor);
      },
    },
  };
}

/** Puts what is new in front of what is known; starts over where the two do not meet. */
export function withNewest(log: Log | null, of: string, page: Requests): Log {
  const whole = { of, rows: page.requests, cursor: page.nextCursor, newest: page };
  const first = log?.rows[0];
  if (!log || !first || page.nextCursor === null) return whole;
  const meets = page.requests.findIndex((row) => row.id === first.id);
  if (meets < 0) return whole;
  return { ...log, rows: meets === 0 ? log.rows : [...page.requests.slice(0, meets), ...log.rows], newest: page };
}

function withOlder(log: Log | null, of: string, cursor: string, page: Requests): Log | null {
  // The filter may have changed, or the log been deleted, while the page was on its way.
  if (log?.of !== of || log.cursor !== cursor) return log;
  const known = new Set(log.rows.map((row) => row.id));
  return {
    ...log,
    rows: [...log.rows, ...page.requests.filter((row) => !known.has(row.id))],
    cursor: page.nextCursor,
  };
}
