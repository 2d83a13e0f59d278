/** What is typed about a local key, and how it becomes a request. */
import type { Key, KeyDraft, Scope } from "@/bindings";
import { lines } from "./lines";

export type Expiry = "never" | "7" | "30" | "90" | "365" | "date";

export type KeyFields = {
  readonly name: string;
  readonly expiry: Expiry;
  /** `2026-12-31`, the last day on which it opens anything. */
  readonly date: string;
  /** One pattern per line. */
  readonly models: string;
  /** Nothing stands for every connection. */
  readonly connections: readonly string[] | null;
  readonly scopes: readonly Scope[];
};

export const scopes: readonly Scope[] = [
  "self:usage",
  "self:account-quota",
  "lease:exclusive",
  "policy:bypass-provider-quota",
  "mcp:connect",
];

export const noFields: KeyFields = { name: "", expiry: "never", date: "", models: "", connections: null, scopes: [] };

export function fieldsOf(key: Key): KeyFields {
  return {
    name: key.name,
    expiry: key.expiresAt === null ? "never" : "date",
    // A key that ends at the first instant of a day opened until the day before.
    date: key.expiresAt === null ? "" : localDay(new Date(Date.parse(key.expiresAt) - 1)),
    models: key.allowedModels.join("\n"),
    connections: key.allowedConnections.length > 0 ? key.allowedConnections : null,
    scopes: key.scopes,
  };
}

/** `unchanged` is the instant an untouched date stands for, which may be finer than a day. */
export function draftOf(fields: KeyFields, now: number, unchanged: string | null = null): Required<KeyDraft> {
  return {
    name: fields.name.trim(),
    expiresAt: expiresAt(fields, now, unchanged),
    allowedModels: lines(fields.models),
    allowedConnections: [...(fields.connections ?? [])],
    scopes: [...fields.scopes],
  };
}

export function isComplete(fields: KeyFields): boolean {
  return (
    fields.name.trim() !== "" &&
    (fields.expiry !== "date" || fields.date !== "") &&
    fields.connections?.length !== 0 &&
    !needsConnections(fields)
  );
}

/** A lease is of a connection the key has for itself. */
export function needsConnections({ scopes, connections }: KeyFields): boolean {
  return scopes.includes("lease:exclusive") && (connections?.length ?? 0) === 0;
}

function expiresAt({ expiry, date }: KeyFields, now: number, unchanged: string | null): string | null {
  if (expiry === "never") return null;
  if (expiry !== "date") return new Date(now + Number(expiry) * 24 * 60 * 60_000).toISOString();
  if (unchanged !== null && localDay(new Date(Date.parse(unchanged) - 1)) === date) return unchanged;
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  return new Date(year, month - 1, day + 1).toISOString();
}

export function localDay(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
