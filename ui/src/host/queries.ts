/**
 * Reads and changes, for components. Keys are operation and input; what to read again after a change follows from the
 * topics in `operations.ts`. No screen polls, and none guesses what to refresh.
 */
import {
  keepPreviousData,
  QueryClient,
  type QueryKey,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Live, Topic } from "@/bindings";
import { type Messages, useMessages } from "@/i18n";
import { setReference } from "@/lib/clock";
import { inWords } from "@/lib/field-problems";
import { HostError } from "./host";
import { useHost } from "./index";
import { type Input, type OperationName, type Output, operations } from "./operations";

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Events say when something is out of date; time alone does not.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        retry: (failures, error) => error instanceof HostError && error.unreachable && failures < 2,
        retryDelay: 400,
      },
    },
  });
}

type ReadOptions = { enabled?: boolean; keepPrevious?: boolean };

export function useRead<O extends OperationName>(
  operation: O,
  input: Input<O>,
  options: ReadOptions = {},
): UseQueryResult<Output<O>, HostError> {
  const host = useHost();
  const messages = useMessages();
  return useQuery<Output<O>, HostError>({
    queryKey: readKey(operation, input),
    queryFn: ({ signal }) => told(host.call(operation, input, signal), messages),
    enabled: options.enabled ?? true,
    ...(options.keepPrevious ? { placeholderData: keepPreviousData as never } : {}),
  });
}

export function useChange<O extends OperationName>(operation: O): UseMutationResult<Output<O>, HostError, Input<O>> {
  const host = useHost();
  const client = useQueryClient();
  const messages = useMessages();
  return useMutation<Output<O>, HostError, Input<O>>({
    mutationFn: (input) => told(host.call(operation, input), messages),
    onSuccess: () => {
      // Not waited for: whoever asked for the change goes on at once.
      void invalidate(client, operations[operation].invalidates ?? []);
    },
  });
}

/** What the gateway says of single fields reaches screens in the person's own language. */
async function told<T>(answer: Promise<T>, messages: Messages): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof HostError) || error.details.length === 0) throw error;
    const { code, message, details } = error;
    throw new HostError({ code, message, details: details.map((problem) => inWords(problem, messages)) });
  }
}

export function readKey<O extends OperationName>(operation: O, input: Input<O>): QueryKey {
  return [operation, input];
}

/** They add up many records: while traffic flows they are read again only so often, in milliseconds. */
const sums: { readonly [operation in OperationName]?: number } = {
  combos_metrics: 3_000,
  usage_summary: 3_000,
  // It tells of whole minutes.
  health_history: 20_000,
};

/** Reads again whatever provides one of the topics: everything, or what is read that often; 0 is at once. */
export function invalidate(client: QueryClient, topics: readonly Topic[], every?: number): Promise<void> {
  return client.invalidateQueries({
    predicate: ({ queryKey: [operation] }) => {
      const name = operation as OperationName;
      if (every !== undefined && every !== (sums[name] ?? 0)) return false;
      return operations[name]?.provides?.some((topic) => topics.includes(topic)) ?? false;
    },
  });
}

/** Gathers topics, and tells of all of them together so long after the first. */
function gathering(after: number, tell: (topics: readonly Topic[]) => void) {
  const gathered = new Set<Topic>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const told = () => {
    timer = undefined;
    const topics = [...gathered];
    gathered.clear();
    tell(topics);
  };
  return {
    add: (topics: readonly Topic[]) => {
      for (const topic of topics) gathered.add(topic);
      timer ??= setTimeout(told, after);
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * Keeps every read current, while somebody can see it: out of sight, what changed is remembered and read again on return.
 * Used once, by the shell. Returns whether the gateway can be heard.
 */
export function useLiveUpdates(): boolean {
  const host = useHost();
  const client = useQueryClient();
  const [connected, setConnected] = useState(true);
  useEffect(() => {
    let heard = true;
    const missed = new Set<Topic>();
    const periods = [...new Set(Object.values(sums))];
    const later = periods.map((every) => gathering(every, (topics) => void invalidate(client, topics, every)));
    const stop = host.subscribe({
      changed: ({ topics, at }) => {
        setReference(Date.parse(at));
        if (document.hidden) {
          for (const topic of topics) missed.add(topic);
          return;
        }
        void invalidate(client, topics, 0);
        for (const each of later) each.add(topics);
      },
      connected: (now) => {
        // There is no replay: what happened in between is read again.
        if (now && !heard) void client.invalidateQueries();
        heard = now;
        setConnected(now);
      },
    });
    const onSight = () => {
      if (document.hidden || missed.size === 0) return;
      void invalidate(client, [...missed]);
      missed.clear();
    };
    document.addEventListener("visibilitychange", onSight);
    return () => {
      document.removeEventListener("visibilitychange", onSight);
      for (const each of later) each.stop();
      stop();
    };
  }, [host, client]);
  return connected;
}

export function useLive(): Live | null {
  const host = useHost();
  const [figures, setFigures] = useState<Live | null>(null);
  useEffect(() => host.live(setFigures), [host]);
  return figures;
}
