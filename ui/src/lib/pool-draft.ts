/** What is typed about a quota pool, and how it becomes a request. */
import type { QuotaDimension, QuotaPeriod, QuotaPolicy, QuotaPool, QuotaPoolDraft, QuotaUnit } from "@/bindings";

/** A line of a list, with what tells it apart while it is edited. */
type Line = { readonly key: number };

export type LimitFields = Line & { readonly unit: QuotaUnit; readonly window: QuotaPeriod; readonly limit: string };

export type PartFields = Line & {
  /** Empty while none is chosen. */
  readonly apiKeyId: string;
  readonly weight: string;
  /** Empty: no cap. */
  readonly cap: string;
  readonly policy: QuotaPolicy;
};

export type PoolFields = {
  readonly name: string;
  /** Empty: made of the name. */
  readonly slug: string;
  readonly connections: readonly string[];
  readonly limits: readonly LimitFields[];
  readonly parts: readonly PartFields[];
};

export const units: readonly QuotaUnit[] = ["percent", "requests", "tokens", "usd"];
export const periods: readonly QuotaPeriod[] = ["5h", "hourly", "daily", "weekly", "monthly"];
export const policies: readonly QuotaPolicy[] = ["hard", "soft", "burst"];

export const noPool: PoolFields = { name: "", slug: "", connections: [], limits: [], parts: [] };

export function fieldsOf(pool: QuotaPool): PoolFields {
  return {
    name: pool.name,
    slug: pool.slug,
    connections: pool.connections,
    limits: limitsOf(pool.dimensions),
    parts: pool.allocations.map(({ apiKeyId, weight, capValue, policy }, key) => ({
      key,
      apiKeyId,
      weight: String(weight),
      cap: capValue == null ? "" : String(capValue),
      policy,
    })),
  };
}

export function limitsOf(dimensions: readonly QuotaDimension[]): LimitFields[] {
  return dimensions.map(({ unit, window, limit }, key) => ({ key, unit, window, limit: String(limit) }));
}

export function draftOf(fields: PoolFields): Required<QuotaPoolDraft> {
  return {
    name: fields.name.trim(),
    slug: fields.slug.trim() || null,
    connections: [...fields.connections],
    dimensions: fields.limits.map(({ unit, window, limit }) => ({ unit, window, limit: Number(limit) })),
    allocations: fields.parts.map(({ apiKeyId, weight, cap, policy }) => ({
      apiKeyId,
      weight: Number(weight),
      capValue: cap.trim() === "" ? null : Number(cap),
      policy,
    })),
  };
}

export function isComplete(fields: PoolFields): boolean {
  return (
    fields.name.trim() !== "" &&
    fields.connections.length > 0 &&
    fields.limits.every(({ limit }) => isAbove(limit)) &&
    fields.parts.every(
      ({ apiKeyId, weight, cap }) => apiKeyId !== "" && isNumber(weight) && (cap.trim() === "" || isAbove(cap)),
    )
  );
}

/** The line after the last: one more of them. */
export function nextKey(lines: readonly Line[]): number {
  return Math.max(-1, ...lines.map(({ key }) => key)) + 1;
}

/** What part of everything a line gets, as a fraction; nothing while a weight is not a number. */
export function shareOf(parts: readonly PartFields[], index: number): number | null {
  if (!parts.every(({ weight }) => isNumber(weight))) return null;
  const sum = parts.reduce((all, { weight }) => all + Number(weight), 0);
  return sum > 0 ? Number(parts[index]?.weight) / sum : 1 / parts.length;
}

/** What a name becomes in the names of models. */
export function slugOf(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase() || "pool";
}

function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text)) && Number(text) >= 0;
}

function isAbove(text: string): boolean {
  return isNumber(text) && Number(text) > 0;
}
