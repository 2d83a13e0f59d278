/** A host that answers from a script and remembers what it was asked: the outside world of a component test. */
import type { Changed, Live } from "@/bindings";
import {
  defaultPreferences,
  type Host,
  HostError,
  type Preferences,
  type Refusal,
  type WindowControls,
} from "@/host/host";
import type { Input, OperationName, Output } from "@/host/operations";

export type Answers = { [O in OperationName]?: (input: Input<O>) => Output<O> | Promise<Output<O>> };

export type FakeHost = Host & {
  /** Inputs an operation was called with, oldest first. */
  calls<O extends OperationName>(operation: O): Input<O>[];
  /** Says that something changed in the gateway. */
  announce(...topics: Changed["topics"]): void;
  /** Sends the fast figures to whoever looks. */
  flow(figures: Partial<Live>): void;
  /** Breaks or restores the event stream. */
  connected(connected: boolean): void;
  saved: Partial<Preferences>;
};

export function fakeHost(answers: Answers, window: Partial<WindowControls> = {}): FakeHost {
  const calls: { operation: OperationName; input: unknown }[] = [];
  const listeners = new Set<Parameters<Host["subscribe"]>[0]>();
  const watchers = new Set<(figures: Live) => void>();
  const saved: Partial<Preferences> = {};
  return {
    call: async (operation, input) => {
      calls.push({ operation, input });
      const answer = answers[operation] as ((input: unknown) => unknown) | undefined;
      if (!answer) throw new HostError({ code: "not_found", message: `the test answers no ${operation}`, details: [] });
      return (await answer(input)) as never;
    },
    subscribe: (listener) => {
      listeners.add(listener);
      listener.connected(true);
      return () => listeners.delete(listener);
    },
    live: (listener) => {
      watchers.add(listener);
      return () => watchers.delete(listener);
    },
    preferences: {
      load: async () => ({ ...defaultPreferences, ...saved }),
      save: async (key, value) => {
        saved[key] = value;
      },
    },
    window: {
      gateway: null,
      startAtLogin: null,
      tray: false,
      openDataFolder: null,
      openLink: async () => undefined,
      ...window,
    },
    calls: (operation) => calls.filter((call) => call.operation === operation).map((call) => call.input as never),
    announce: (...topics) => {
      for (const listener of listeners) listener.changed({ topics, at: new Date().toISOString() });
    },
    flow: (figures) => {
      const quiet = { inFlight: 0, queued: 0, tokensPerSecond: 0, requestsPerMinute: 0, underway: [] };
      for (const watcher of watchers) watcher({ ...quiet, ...figures });
    },
    connected: (connected) => {
      for (const listener of listeners) listener.connected(connected);
    },
    saved,
  };
}

export function refuse(error: Partial<Refusal> & { code: string }): never {
  throw new HostError({ message: "", details: [], ...error });
}
