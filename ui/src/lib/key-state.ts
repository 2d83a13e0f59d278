import type { Key } from "@/bindings";
import type { State } from "./connection-state";

export type KeyState = { readonly state: State; readonly word: "active" | "off" | "expired" };

/** Whether the key opens the gateway now. */
export function keyState({ isActive, expiresAt }: Key, now: number): KeyState {
  if (!isActive) return { state: "terminal", word: "off" };
  if (expiresAt !== null && Date.parse(expiresAt) <= now) return { state: "terminal", word: "expired" };
  return { state: "ready", word: "active" };
}
