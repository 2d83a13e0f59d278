import { createContext, type ReactNode, useContext } from "react";
import type { Host } from "./host";

const HostContext = createContext<Host | null>(null);

export function HostProvider({ host, children }: { host: Host; children: ReactNode }) {
  return <HostContext value={host}>{children}</HostContext>;
}

export function useHost(): Host {
  const host = useContext(HostContext);
  if (!host) throw new Error("useHost needs a HostProvider above it");
  return host;
}

/** The host that fits where the page runs. Loaded on demand, so that a browser never loads the window's code. */
export async function openHost(): Promise<Host> {
  if ("__TAURI_INTERNALS__" in globalThis) return (await import("./tauri")).tauriHost();
  return (await import("./http")).httpHost();
}

export type { GatewayState, Host, Preferences } from "./host";
export { HostError } from "./host";
