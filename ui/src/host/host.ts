/**
 * The only door to the outside. Two implementations: the desktop window (`tauri.ts`), and a plain browser against the
 * REST adapter (`http.ts`), so that every screen also runs and is tested without a window.
 */
import type { Changed, FieldProblem, Live } from "@/bindings";
import type { Input, OperationName, Output } from "./operations";

export interface Host {
  /** Carries out one operation. Rejects with `HostError`, never with anything else. */
  call<O extends OperationName>(operation: O, input: Input<O>, signal?: AbortSignal): Promise<Output<O>>;
  /** Reports what changed in the gateway, and whether it can be heard at all. Returns the way to stop. */
  subscribe(listener: ChangeListener): () => void;
  /** Fast figures, four times a second, for as long as somebody looks. Returns the way to stop. */
  live(listener: (figures: Live) => void): () => void;
  readonly preferences: PreferenceStore;
  readonly window: WindowControls;
}

export type ChangeListener = {
  changed(change: Changed): void;
  /** `false` when events stop arriving; `true` when they do again, after which everything may be out of date. */
  connected(connected: boolean): void;
};

/** What only the window needs (specification's decision 11): kept on this machine, outside the gateway. */
export type Preferences = {
  theme: "system" | "light" | "dark";
  language: "system" | "en" | "it";
  /** Whether closing the window leaves the gateway running in the tray. */
  closeToTray: boolean;
  /** Whether the guided set-up was finished or left for good. */
  onboarded: boolean;
  /** The agent last chosen in the set-up and on the Agents screen. */
  agent: string | null;
};

export const defaultPreferences: Preferences = {
  theme: "system",
  language: "system",
  closeToTray: true,
  onboarded: false,
  agent: null,
};

export interface PreferenceStore {
  load(): Promise<Preferences>;
  save<K extends keyof Preferences>(key: K, value: Preferences[K]): Promise<void>;
}

/** What a browser tab cannot do is `null` there, and its control is not drawn. */
export type WindowControls = {
  /** The gateway that lives in the window's own process. */
  readonly gateway: GatewayControl | null;
  readonly startAtLogin: { get(): Promise<boolean>; set(enabled: boolean): Promise<void> } | null;
  readonly tray: boolean;
  readonly openDataFolder: (() => Promise<void>) | null;
  openLink(url: string): Promise<void>;
};

export type GatewayState =
  | { readonly state: "running"; readonly url: string }
  /** Another program has the port; `next` is the next free one. */
  | { readonly state: "port_taken"; readonly port: number; readonly next: number | null }
  | { readonly state: "failed"; readonly message: string };

export interface GatewayControl {
  /** Reports how it is, now and whenever that changes. Returns the way to stop. */
  watch(listener: (state: GatewayState) => void): () => void;
  /** Starts it on that port, and keeps the port. */
  startOn(port: number): Promise<GatewayState>;
}

/** What came instead of an answer: the gateway's own `ControlError`, or that it could not be reached. */
export type Refusal = { code: string; message: string; details?: readonly FieldProblem[] };

/** A refused or failed operation. `code` is stable and is what screens match on. */
export class HostError extends Error {
  override readonly name = "HostError";
  readonly code: string;
  readonly details: readonly FieldProblem[];

  constructor(error: Refusal) {
    super(error.message);
    this.code = error.code;
    this.details = error.details ?? [];
  }

  /** The gateway itself could not be reached. */
  get unreachable(): boolean {
    return this.code === UNREACHABLE;
  }

  /** What the gateway says about one field of the input. */
  field(name: string): string | undefined {
    return this.details.find((problem) => problem.field === name)?.message;
  }
}

export const UNREACHABLE = "gateway_unreachable";
