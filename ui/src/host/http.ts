/** The host in a plain browser: REST below `/api`, which the page's own server passes on to the gateway. */
import type { Changed, Live } from "@/bindings";
import { readEventStream } from "./event-stream";
import {
  defaultPreferences,
  type Host,
  HostError,
  type PreferenceStore,
  type Preferences,
  type Refusal,
  UNREACHABLE,
} from "./host";
import { type Input, type OperationName, type Output, operations, splitInput } from "./operations";

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8_000;
const PREFERENCES_KEY = "omniroute.preferences";

export function httpHost(): Host {
  return {
    call,
    subscribe: (listener) =>
      follow("/api/events", {
        open: () => listener.connected(true),
        lost: () => listener.connected(false),
        event: (name, data) => {
          if (name === "changed") listener.changed(JSON.parse(data) as Changed);
        },
      }),
    live: (listener) =>
      follow("/api/events?topics=live", {
        event: (name, data) => {
          if (name === "live") listener(JSON.parse(data) as Live);
        },
      }),
    preferences: browserPreferences,
    window: {
      gateway: null,
      startAtLogin: null,
      tray: false,
      openDataFolder: null,
      openLink: async (url) => {
        globalThis.open(url, "_blank", "noopener,noreferrer");
      },
    },
  };
}

async function call<O extends OperationName>(operation: O, input: Input<O>, signal?: AbortSignal): Promise<Output<O>> {
  const request = toRequest(operation, input);
  let response: Response;
  try {
    response = await fetch(request.url, { ...request.init, signal: signal ?? null });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new HostError({ code: UNREACHABLE, message: String(error), details: [] });
  }
  if (!response.ok) throw new HostError(await readError(response));
  return (await response.json()) as Output<O>;
}

/** Path, query and body of an operation's input. */
export function toRequest<O extends OperationName>(operation: O, input: Input<O>): { url: string; init: RequestInit } {
  const { method, path } = operations[operation];
  const { place, rest } = splitInput(operation, input);
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(place[name] ?? ""));
  if (method === "GET") {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(rest)) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    return { url: query.size > 0 ? `${url}?${query}` : url, init: { method } };
  }
  if (Object.keys(rest).length === 0 && method !== "PATCH") return { url, init: { method } };
  return {
    url,
    init: { method, headers: { "content-type": "application/json" }, body: JSON.stringify(rest) },
  };
}

async function readError(response: Response): Promise<Refusal> {
  try {
    const { error } = (await response.json()) as { error: Partial<Refusal> };
    return { code: error.code ?? "internal_error", message: error.message ?? "", details: error.details ?? [] };
  } catch {
    const code = response.status === 502 || response.status === 504 ? UNREACHABLE : "internal_error";
    return { code, message: `${response.status} ${response.statusText}`.trim(), details: [] };
  }
}

type StreamListener = { open?(): void; lost?(): void; event(name: string, data: string): void };

/** Reads an event stream for as long as wanted, and opens it again when it breaks. */
function follow(url: string, listener: StreamListener): () => void {
  const stopped = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = FIRST_RETRY_MS;

  const open = async () => {
    try {
      const response = await fetch(url, { signal: stopped.signal, headers: { accept: "text/event-stream" } });
      if (response.ok && response.body) {
        pause = FIRST_RETRY_MS;
        listener.open?.();
        await readEventStream(response.body, listener.event);
      }
    } catch {
      // A broken stream and a refused connection are the same to the reader: try again below.
    }
    if (stopped.signal.aborted) return;
    listener.lost?.();
    timer = setTimeout(open, pause);
    pause = Math.min(pause * 2, LONGEST_RETRY_MS);
  };
  void open();

  return () => {
    stopped.abort();
    clearTimeout(timer);
  };
}

const browserPreferences: PreferenceStore = {
  load: async () => ({ ...defaultPreferences, ...stored() }),
  save: async (key, value) => {
    try {
      localStorage.setItem(PREFERENCES_KEY, JSON.stringify({ ...stored(), [key]: value }));
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
  },
};

function stored(): Partial<Preferences> {
  try {
    return JSON.parse(localStorage.getItem(PREFERENCES_KEY) ?? "{}") as Partial<Preferences>;
  } catch {
    return {};
  }
}
