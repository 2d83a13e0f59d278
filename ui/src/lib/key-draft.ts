/** What is typed about a local key, and how it becomes a request. */
import type { Interval, Key, KeyDraft, KeyLimitScope, KeyTokenLimit, Scope } from "@/bindings";
import { lines } from "./lines";

export type Expiry = "never" | "7" | "30" | "90" | "365" | "date";

export type TokenLimitFields = {
  /** For the list alone. */
  readonly id: number;
  readonly scopeType: KeyLimitScope;
  readonly scopeValue: string;
  readonly tokens: string;
  readonly interval: Interval;
};

export type KeyFields = {
  readonly name: string;
  readonly expiry: Expiry;
  /** `2026-12-31`, the last day on which it opens anything. */
  readonly date: string;
  /** One pattern per line. */
  readonly models: string;
  /** Nothing stands for every combo. */
  readonly combos: readonly string[] | null;
  /** Nothing stands for every connection. */
  readonly connections: readonly string[] | null;
  /** In their order. */
  readonly preferred: readonly string[];
  readonly scopes: readonly Scope[];
  /** US dollars as they are typed; empty, no budget. */
  readonly budgets: Readonly<Record<Interval, string>>;
  /** A percentage. */
  readonly warnAt: string;
  /** `06:30` */
  readonly resetTime: string;
  /** Of token limits that name none. */
  readonly resetInterval: Interval;
  readonly tokenLimits: readonly TokenLimitFields[];
};

/** 00:00 to 23:59. */
const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

/** What the form sends: candidates that `auto` leaves out are set elsewhere, and stay as they are. */
export type WrittenKey = Omit<Required<KeyDraft>, "excludedAutoCandidates">;

export const scopes: readonly Scope[] = [
  "self:usage",
  "self:account-quota",
  "lease:exclusive",
  "policy:bypass-provider-quota",
  "mcp:connect",
];

export const intervals: readonly Interval[] = ["daily", "weekly", "monthly"];

const MOST_USD = 1_000_000;
const MOST_TOKENS = 1_000_000_000_000;

export const noFields: KeyFields = {
  name: "",
  expiry: "never",
  date: "",
  models: "",
  combos: null,
  connections: null,
  preferred: [],
  scopes: [],
  budgets: { daily: "", weekly: "", monthly: "" },
  warnAt: "80",
  resetTime: "00:00",
  resetInterval: "daily",
  tokenLimits: [],
};

export function fieldsOf(key: Key): KeyFields {
  const some = (list: readonly string[]) => (list.length > 0 ? list : null);
  const amount = (usd: number | null) => (usd === null ? "" : String(usd));
  return {
    name: key.name,
    expiry: key.expiresAt === null ? "never" : "date",
    // A key that ends at the first instant of a day opened until the day before.
    date: key.expiresAt === null ? "" : localDay(new Date(Date.parse(key.expiresAt) - 1)),
    models: key.allowedModels.join("\n"),
    combos: some(key.allowedCombos),
    connections: some(key.allowedConnections),
    preferred: key.preferredConnections,
    scopes: key.scopes,
    budgets: {
      daily: amount(key.budgetDailyUsd),
      weekly: amount(key.budgetWeeklyUsd),
      monthly: amount(key.budgetMonthlyUsd),
    },
    warnAt: String(Number((key.warningThreshold * 100).toPrecision(6))),
    resetTime: key.resetTime,
    resetInterval: key.resetInterval,
    tokenLimits: key.tokenLimits.map((limit, id) => ({
      id,
      scopeType: limit.scopeType,
      scopeValue: limit.scopeValue ?? "",
      tokens: String(limit.tokenLimit),
      interval: limit.resetInterval ?? key.resetInterval,
    })),
  };
}

/** `unchanged` is the instant an untouched date stands for, which may be finer than a day. */
export function draftOf(fields: KeyFields, now: number, unchanged: string | null = null): WrittenKey {
  return {
    name: fields.name.trim(),
    expiresAt: expiresAt(fields, now, unchanged),
    allowedModels: lines(fields.models),
    allowedCombos: [...(fields.combos ?? [])],
    allowedConnections: [...(fields.connections ?? [])],
    preferredConnections: [...fields.preferred],
    scopes: [...fields.scopes],
    budgetDailyUsd: amountOf(fields.budgets.daily),
    budgetWeeklyUsd: amountOf(fields.budgets.weekly),
    budgetMonthlyUsd: amountOf(fields.budgets.monthly),
    warningThreshold: (amountOf(fields.warnAt) ?? 80) / 100,
    resetInterval: fields.resetInterval,
    resetTime: fields.resetTime,
    tokenLimits: fields.tokenLimits.map(tokenLimitOf),
  };
}

export function isComplete(fields: KeyFields): boolean {
  return (
    fields.name.trim() !== "" &&
    (fields.expiry !== "date" || fields.date !== "") &&
    fields.combos?.length !== 0 &&
    fields.connections?.length !== 0 &&
    !needsConnections(fields) &&
    intervals.every((interval) => isBudget(fields.budgets[interval])) &&
    isPercentage(fields.warnAt) &&
    timeOfDay.test(fields.resetTime) &&
    fields.tokenLimits.every((limit) => isTokens(limit.tokens) && isNamed(limit))
  );
}

/** Empty, or an amount of dollars. */
export function isBudget(text: string): boolean {
  const amount = amountOf(text);
  return text.trim() === "" || (amount !== null && amount > 0 && amount <= MOST_USD);
}

export function isPercentage(text: string): boolean {
  const amount = amountOf(text);
  return amount !== null && amount > 0 && amount <= 100;
}

export function isTokens(text: string): boolean {
  const amount = amountOf(text);
  return amount !== null && Number.isInteger(amount) && amount >= 1 && amount <= MOST_TOKENS;
}

/** A limit of one provider or model says of which. */
export const isNamed = ({ scopeType, scopeValue }: TokenLimitFields) =>
  scopeType === "global" || scopeValue.trim() !== "";

/** A lease is of a connection the key has for itself. */
export function needsConnections({ scopes, connections }: KeyFields): boolean {
  return scopes.includes("lease:exclusive") && (connections?.length ?? 0) === 0;
}

/** The connections that may be preferred: those that are allowed. */
export const isAllowed = ({ connections }: KeyFields, id: string) => connections === null || connections.includes(id);

function tokenLimitOf(limit: TokenLimitFields): KeyTokenLimit {
  return {
    scopeType: limit.scopeType,
    scopeValue: limit.scopeType === "global" ? null : limit.scopeValue.trim(),
    tokenLimit: amountOf(limit.tokens) ?? 0,
    resetInterval: limit.interval,
  };
}

/** A number as it is typed, with a point or a comma; nothing where it is none. */
function amountOf(text: string): number | null {
  const plain = text.trim().replace(",", ".");
  return /^\d+(\.\d+)?$/.test(plain) ? Number(plain) : null;
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
