/** What errors of a provider mean by a person's own rules: the setting `providerErrorRules`, read, edited and tried. */
import type { Connection, RequestRow, Value } from "@/bindings";
import type { HostError } from "@/host/host";
import { moved } from "./combo-draft";
import { groupBy } from "./group-by";
import { membersOf } from "./json-members";
import { readSpan, wholeUnit, writeSpan } from "./time-span";

export const rulesPath = "providerErrorRules";

export const ruleScopes = ["connection", "model", "provider"] as const;
export type RuleScope = (typeof ruleScopes)[number];

export const ruleReasons = [
  "quota_exhausted",
  "rate_limit_exceeded",
  "model_capacity",
  "server_error",
  "auth_error",
  "forbidden",
  "not_found",
  "unknown",
] as const;
export type RuleReason = (typeof ruleReasons)[number];

export type ErrorRule = {
  readonly status: number;
  /** Must occur in the error, in any case. */
  readonly match: string;
  readonly scope: RuleScope;
  /** `quota_exhausted` where absent. */
  readonly reason?: RuleReason;
  /** First rest; as long as usual where absent. */
  readonly cooldownMs?: number;
};

/** The gateway's bounds, which a setting of this kind does not bring along. */
export const ruleBounds = { rules: 50, status: [100, 599], longestRestMs: 30 * 86_400_000 } as const;

/** By provider; of one provider's rules the first that fits counts. */
export type RuleTable = { readonly [provider: string]: readonly ErrorRule[] };

/** Where a rule stands. */
export type RulePlace = { readonly provider: string; readonly index: number };

export function readRules(value: Value | undefined): RuleTable {
  const lists = Object.entries(membersOf(value)).filter(([, list]) => Array.isArray(list) && list.length > 0);
  return Object.fromEntries(lists) as unknown as RuleTable;
}

export function writeRules(table: RuleTable): Value {
  return Object.fromEntries(Object.entries(table).map(([provider, rules]) => [provider, rules.map((r) => ({ ...r }))]));
}

export function ruleCount(table: RuleTable): number {
  return Object.values(table).reduce((sum, rules) => sum + rules.length, 0);
}

/** Places a rule before the one at that place; without an index, after all of its provider. */
export function withRule(
  table: RuleTable,
  rule: ErrorRule,
  { provider, index }: Partial<RulePlace> & { provider: string },
): RuleTable {
  const rules = [...(table[provider] ?? [])];
  rules.splice(index ?? rules.length, 0, rule);
  return { ...table, [provider]: rules };
}

/** The last rule of a provider takes the provider with it. */
export function withoutRule(table: RuleTable, { provider, index }: RulePlace): RuleTable {
  const { [provider]: rules = [], ...others } = table;
  const left = rules.filter((_, at) => at !== index);
  return left.length > 0 ? { ...others, [provider]: left } : others;
}

/** Keeps its place, unless it is now about another provider. */
export function withRuleChanged(table: RuleTable, place: RulePlace, provider: string, rule: ErrorRule): RuleTable {
  return withRule(withoutRule(table, place), rule, provider === place.provider ? place : { provider });
}

export function withRuleMoved(table: RuleTable, provider: string, from: number, to: number): RuleTable {
  return { ...table, [provider]: moved(table[provider] ?? [], from, to) };
}

/** Names that stay with the rules of a list while they change places. */
export function ruleKeys(rules: readonly ErrorRule[]): string[] {
  const seen = new Map<string, number>();
  return rules.map((rule) => {
    const written = JSON.stringify(rule);
    const before = seen.get(written) ?? 0;
    seen.set(written, before + 1);
    return `${written} ${before}`;
  });
}

/** Who rests in effect: a refusal does not pass by itself, so that it names no account, and what usually rests does. */
export function scopeInEffect({ scope, reason }: Pick<ErrorRule, "scope" | "reason">): RuleScope {
  const refusal = reason === "auth_error" || reason === "forbidden" || reason === "not_found";
  return scope === "connection" && refusal ? "provider" : scope;
}

/** A rule as it is typed. */
export type RuleDraft = {
  readonly provider: string;
  readonly status: string;
  readonly match: string;
  readonly scope: RuleScope;
  readonly reason: RuleReason;
  readonly rest: string;
};
export type RuleField = "status" | "match" | "scope" | "reason" | "cooldownMs";

export function draftOf(provider: string, rule?: ErrorRule): RuleDraft {
  return {
    provider,
    status: rule ? String(rule.status) : "",
    match: rule?.match ?? "",
    scope: rule?.scope ?? "connection",
    reason: rule?.reason ?? "quota_exhausted",
    rest: rule?.cooldownMs === undefined ? "" : spanText(rule.cooldownMs),
  };
}

/** What is typed wrongly so far: what is still empty is not wrong yet. */
export function draftProblems({ status, match, rest }: RuleDraft): ReadonlySet<RuleField> {
  const wrong = new Set<RuleField>();
  if (status.trim() && readStatus(status) === null) wrong.add("status");
  if (match && !match.trim()) wrong.add("match");
  if (rest.trim() && readRest(rest) === null) wrong.add("cooldownMs");
  return wrong;
}

/** `null` while something is missing or wrong. */
export function ruleOf(draft: RuleDraft): ErrorRule | null {
  const status = readStatus(draft.status);
  const match = draft.match.trim();
  const cooldownMs = readRest(draft.rest);
  if (status === null || !match || (draft.rest.trim() && cooldownMs === null)) return null;
  return { status, match, scope: draft.scope, reason: draft.reason, ...(cooldownMs !== null && { cooldownMs }) };
}

/** A bare number is minutes. */
export function readRest(text: string): number | null {
  const rest = readSpan(text, "min");
  return rest !== null && rest <= ruleBounds.longestRestMs ? rest : null;
}

function readStatus(text: string): number | null {
  const [lowest, highest] = ruleBounds.status;
  const status = /^\s*\d{3}\s*$/.test(text) ? Number(text) : 0;
  return status >= lowest && status <= highest ? status : null;
}

function spanText(ms: number): string {
  const unit = wholeUnit(ms);
  return `${writeSpan(ms, unit)} ${unit}`;
}

/** Which fields of a rule the gateway refuses: it names each by its place in the setting. */
export function refusedFields(error: HostError | null, { provider, index }: RulePlace): ReadonlySet<RuleField> {
  const told = error?.details.map(({ field, message }) => `${field}: ${message}`).join("\n") ?? "";
  const fields: readonly RuleField[] = ["status", "match", "scope", "reason", "cooldownMs"];
  return new Set(fields.filter((field) => told.includes(`${rulesPath}.${provider}[${index}].${field}:`)));
}

/** An error that a provider gave lately. */
export type RecentError = {
  readonly status: number;
  readonly text: string;
  readonly at: string;
  readonly connectionName: string | null;
};

const MOST_ERRORS = 5;

/**
 * The latest different errors of one provider: the last of each connection, and those of requests that asked once and
 * were answered with what the provider said.
 */
export function recentErrors(connections: readonly Connection[], requests: readonly RequestRow[]): RecentError[] {
  const last = connections.flatMap(({ errorCode, lastError, lastErrorAt, name }) =>
    errorCode !== null && lastError && lastErrorAt
      ? [{ status: errorCode, text: lastError, at: lastErrorAt, connectionName: name }]
      : [],
  );
  const failed = requests.flatMap(({ status, errorSummary, timestamp, attempts, connectionName }) =>
    attempts === 1 && errorSummary ? [{ status, text: errorSummary, at: timestamp, connectionName }] : [],
  );
  const latest = [...last, ...failed].sort((a, b) => b.at.localeCompare(a.at));
  const alike = groupBy(latest, ({ status, text }) => `${status} ${text}`);
  return [...alike.values()].flatMap((errors) => errors.slice(0, 1)).slice(0, MOST_ERRORS);
}

/** Whether a rule with this status and text would have held for it, as far as its one line on record tells. */
export function fits({ status, match }: Pick<RuleDraft, "status" | "match">, error: RecentError): boolean {
  const wanted = match.trim().toLowerCase();
  return wanted !== "" && readStatus(status) === error.status && error.text.toLowerCase().includes(wanted);
}
