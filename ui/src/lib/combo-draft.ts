/** A combo while it is edited: what is typed, what of it changed, and how it is said in short. */
import type { Combo, ComboChange, ComboStep, Value } from "@/bindings";

export const LONGEST_NAME = 100;

export type ComboConfig = Combo["config"];

/** What a person may say of a combo, in full. */
export type EditedCombo = Pick<
  Combo,
  | "name"
  | "strategy"
  | "models"
  | "config"
  | "system_message"
  | "context_cache_protection"
  | "isHidden"
  | "isActive"
  | "compositeTiers"
>;

export type ModelStep = Extract<ComboStep, { kind: "model" }>;

export const emptyDraft: EditedCombo = {
  name: "",
  strategy: "priority",
  models: [],
  config: {},
  system_message: null,
  context_cache_protection: false,
  isHidden: false,
  isActive: true,
  compositeTiers: null,
};

export function toDraft(combo: Combo): EditedCombo {
  const { name, strategy, models, config, system_message, context_cache_protection } = combo;
  const { isHidden, isActive, compositeTiers } = combo;
  return {
    name,
    strategy,
    models,
    config,
    system_message,
    context_cache_protection,
    isHidden,
    isActive,
    compositeTiers,
  };
}

/** Only what differs, in the form of a PATCH: `null` unsets a setting that is no longer there. */
export function changeOf(before: EditedCombo, after: EditedCombo): ComboChange {
  const change: Record<string, unknown> = {};
  for (const name of Object.keys(emptyDraft) as (keyof EditedCombo)[]) {
    if (!same(before[name], after[name])) change[name] = after[name];
  }
  if ("config" in change) change.config = patchOf(before.config, after.config);
  return change as ComboChange;
}

export function isChanged(before: EditedCombo, after: EditedCombo): boolean {
  return Object.keys(changeOf(before, after)).length > 0;
}

/** Free maps and lists are replaced whole, groups of settings are merged. */
const replacedWhole = ["weights"];

/** What makes the one configuration of the other, in the form of a PATCH. */
export function patchOf(before: ComboConfig, after: ComboConfig): ComboConfig {
  const patch: ComboConfig = {};
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [old, now] = [before[name], after[name]];
    if (same(old, now)) continue;
    patch[name] = isGroup(old) && isGroup(now) && !replacedWhole.includes(name) ? patchOf(old, now) : (now ?? null);
  }
  return patch;
}

export function isGroup(value: Value | undefined): value is ComboConfig {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** What a step leads to, as one writes it in short: `openai/gpt-5`, `groq/llama-*`, the name of a combo. */
export function targetOf(step: ComboStep): string {
  switch (step.kind) {
    case "model":
      return step.model;
    case "combo-ref":
      return step.comboName;
    case "provider-wildcard":
      return `${step.providerId}/${step.modelPattern}`;
  }
}

export type Names = {
  /** Names of the combos there are. */
  readonly combos: readonly string[];
  /** A provider's id by what people write before the slash. */
  providerId(written: string): string;
};

/** Reads shorthand: a combo's name, a pattern with a star, else `provider/model`. `null` when it is none of them. */
export function readTarget(text: string, names: Names): Target | null {
  const written = text.trim();
  if (names.combos.includes(written)) return { kind: "combo-ref", comboName: written };
  const slash = written.indexOf("/");
  if (slash <= 0 || slash === written.length - 1) return null;
  const provider = written.slice(0, slash);
  const rest = written.slice(slash + 1);
  if (provider.includes("*")) return null;
  const providerId = names.providerId(provider);
  return rest.includes("*")
    ? { kind: "provider-wildcard", providerId, modelPattern: rest }
    : { kind: "model", model: written, providerId };
}

/** The part of a step that says where it leads. */
export type Target =
  | { kind: "model"; model: string; providerId: string }
  | { kind: "combo-ref"; comboName: string }
  | { kind: "provider-wildcard"; providerId: string; modelPattern: string };

const plain = {
  connectionId: null,
  allowedConnectionIds: [],
  prompt: null,
  tags: [],
  fallbackOnlyOnQuotaExhaustion: false,
};

export function newStep(target: Target): ComboStep {
  const common = { id: crypto.randomUUID(), weight: 0, enabled: true, label: null };
  return target.kind === "model" ? { ...common, ...plain, ...target } : { ...common, ...target };
}

/** The step led elsewhere. What was said about accounts of another provider no longer means anything. */
export function redirected(step: ComboStep, target: Target): ComboStep {
  const { id, weight, enabled, label } = step;
  const common = { id, weight, enabled, label };
  if (target.kind !== "model") return { ...common, ...target };
  if (step.kind !== "model") return { ...common, ...plain, ...target };
  const { connectionId, allowedConnectionIds } = step.providerId === target.providerId ? step : plain;
  return { ...step, connectionId, allowedConnectionIds, ...target };
}

/** Which part of the requests each step gets first, 0 to 1; `null` for those that are switched off. */
export function shares(steps: readonly ComboStep[]): (number | null)[] {
  const on = steps.filter(({ enabled }) => enabled);
  const sum = on.reduce((total, { weight }) => total + weight, 0);
  return steps.map(({ enabled, weight }) => (!enabled ? null : sum > 0 ? weight / sum : 1 / on.length));
}

/** The list with the entry at `from` where the one at `to` was. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  const [entry] = next.splice(from, 1);
  if (entry !== undefined) next.splice(to, 0, entry);
  return next;
}

/** The order of all after one of those in sight was moved: it comes to stand beside the one whose place it takes. */
export function movedAmong<T>(all: readonly T[], inSight: readonly T[], from: number, to: number): T[] {
  const [entry, place] = [inSight[from], inSight[to]];
  if (entry === undefined || place === undefined) return [...all];
  return moved(all, all.indexOf(entry), all.indexOf(place));
}

/** `team-copy`, or `team-copy-2`…, never longer than a name may be. */
export function copyName(name: string, taken: readonly string[]): string {
  for (let n = 1; ; n += 1) {
    const end = n === 1 ? "-copy" : `-copy-${n}`;
    const candidate = name.slice(0, LONGEST_NAME - end.length) + end;
    if (!taken.includes(candidate)) return candidate;
  }
}
