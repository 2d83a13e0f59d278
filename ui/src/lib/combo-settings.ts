/**
 * The settings of a combo as fields that draw themselves. Bounds and defaults are those of the gateway (specification,
 * 3.2); what the settings of all combos say comes from the gateway's own fields, where it sends them.
 */
import type { SettingField, Value } from "@/bindings";
import { type ComboConfig, type EditedCombo, isGroup, patchOf } from "./combo-draft";
import { membersOf } from "./json-members";

type Definition = {
  kind: "boolean" | "integer" | "number" | "duration" | "choice" | "list" | "model";
  default: Value;
  min?: number;
  max?: number;
  unit?: string;
  choices?: readonly string[];
  /** Shown times a hundred: the wire has a share of one. */
  share?: true;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

const flag = (byDefault: boolean | null): Definition => ({ kind: "boolean", default: byDefault });
const whole = (byDefault: number | null, min: number, max: number, unit?: string): Definition => ({
  kind: "integer",
  default: byDefault,
  min,
  max,
  ...(unit && { unit }),
});
const span = (byDefault: number | null, min: number, max: number): Definition => ({
  kind: "duration",
  default: byDefault,
  min,
  max,
  unit: "ms",
});
const percent = (byDefault: number | null): Definition => ({
  kind: "number",
  default: byDefault,
  min: 0,
  max: 100,
  unit: "percent",
});
const share = (byDefault: number | null): Definition => ({ ...percent(byDefault), share: true });
const dollars = (): Definition => ({ kind: "number", default: null, min: 0, max: 1_000_000, unit: "US$" });
const choice = (...choices: [string, ...string[]]): Definition => ({ kind: "choice", default: choices[0], choices });
const list = (...byDefault: string[]): Definition => ({ kind: "list", default: byDefault });
const model: Definition = { kind: "model", default: null };

const definitions: Readonly<Record<string, Definition>> = {
  maxRetries: whole(1, 0, 10),
  retryDelayMs: span(2 * SECOND, 0, MINUTE),
  failoverBeforeRetry: flag(null),
  fallbackDelayMs: span(0, 0, MINUTE),
  maxSetRetries: whole(0, 0, 10),
  setRetryDelayMs: span(2 * SECOND, 0, MINUTE),
  targetTimeoutMs: span(2 * MINUTE, SECOND, 10 * MINUTE),
  comboTimeoutMs: span(null, SECOND, 10 * MINUTE),

  disableSessionStickiness: flag(false),
  compatFilterFailOpen: flag(false),
  "contextRequirements.minContextWindow": whole(null, 1, 100_000_000, "tokens"),
  "contextRequirements.mode": choice("strict", "lenient"),
  responseValidation: flag(true),
  reasoningTokenBufferEnabled: flag(true),

  nestedMode: choice("flatten", "execute"),
  maxComboDepth: whole(3, 1, 10),

  zeroLatencyOptimizationsEnabled: flag(false),
  hedging: flag(false),
  hedgeDelayMs: span(500, 0, MINUTE),
  predictiveTtftMs: span(0, 0, 10 * MINUTE),

  stickyWeightedLimit: whole(1, 1, 1_000),
  stickyRoundRobinLimit: whole(1, 1, 1_000),
  concurrencyPerModel: whole(3, 1, 32),
  queueTimeoutMs: span(30 * SECOND, 0, 10 * MINUTE),
  queueDepth: whole(20, 0, 100),

  handoffThreshold: share(0.85),
  handoffModel: model,
  handoffProviders: list("codex"),
  maxMessagesForSummary: whole(30, 1, 100),

  resetAwareSessionWeight: share(0.35),
  resetAwareWeeklyWeight: share(0.65),
  resetAwareTieBandPercent: percent(5),
  resetAwareExhaustionGuardPercent: percent(10),

  resetWindowNames: list("weekly"),
  includeSessionWindow: flag(false),
  resetWindowTieBandMs: span(MINUTE, 0, DAY),

  "fusion.minPanel": whole(2, 1, 32),
  "fusion.stragglerGraceMs": span(8 * SECOND, 0, 2 * MINUTE),
  "fusion.panelHardTimeoutMs": span(90 * SECOND, SECOND, 10 * MINUTE),
  "fusion.judgeModel": model,

  "autoConfig.routerStrategy": choice("rules", "score", "cost", "eco", "latency", "fast", "sla-aware", "lkgp"),
  "autoConfig.explorationRate": share(null),
  "autoConfig.candidatePool": list(),
  "autoConfig.budgetUsd": dollars(),
  "autoConfig.budgetMode": choice("cheapest", "strict"),
  "autoConfig.slaTargetP95Ms": span(null, 1, 10 * MINUTE),
  "autoConfig.slaMaxErrorRate": share(null),
  "autoConfig.slaMaxCostPer1MTokens": dollars(),
  "autoConfig.slaHardConstraints": flag(false),
};

/** What is the same for every strategy, in the groups in which it is shown. */
export const sharedSettings = {
  failures: [
    "maxRetries",
    "retryDelayMs",
    "failoverBeforeRetry",
    "fallbackDelayMs",
    "maxSetRetries",
    "setRetryDelayMs",
    "targetTimeoutMs",
    "comboTimeoutMs",
    "responseValidation",
    "reasoningTokenBufferEnabled",
  ],
  fitness: ["contextRequirements.minContextWindow", "contextRequirements.mode", "compatFilterFailOpen"],
  speed: ["zeroLatencyOptimizationsEnabled", "hedging", "hedgeDelayMs", "predictiveTtftMs"],
} as const;

export const nestingSettings = ["nestedMode", "maxComboDepth"] as const;

const PREFIX = "combo.";
/** Where the gateway keeps what holds for all combos. */
export const FOR_ALL = "comboDefaults.";
/** Where it keeps, by provider, what holds for the combos whose models all come from one. */
export const FOR_PROVIDERS = "providerOverrides";

/** Whose settings they are: one combo's, those of the combos at one provider alone, or those of all. */
export type ComboLevel = "combo" | "provider" | "all";

/** Whether the name in a path below `comboDefaults` is a setting that is drawn. */
export function isComboSetting(name: string): boolean {
  return name in definitions || name === "autoConfig.modePack";
}

/** What of the settings of all combos was chosen in the window, in the form of a combo's own. */
export function chosenForAll(gateway: readonly SettingField[]): ComboConfig {
  return gateway
    .filter(({ path, source }) => path.startsWith(FOR_ALL) && source === "stored")
    .reduce<ComboConfig>(
      (config, { path, value }) => withValue(config, path.slice(FOR_ALL.length).split("."), value),
      {},
    );
}

/** The change of what holds for all. The gateway unsets one setting at a time, never a group. */
export function changeForAll(before: ComboConfig, after: ComboConfig): ComboConfig {
  const groups = Object.keys(before).filter((name) => isGroup(before[name]));
  return patchOf(before, { ...Object.fromEntries(groups.map((name) => [name, {}])), ...after });
}

/** What is said for the combos of one provider alone. */
export function chosenForProvider(gateway: readonly SettingField[], provider: string): ComboConfig {
  return membersOf(membersOf(gateway.find(({ path }) => path === FOR_PROVIDERS)?.value)[provider]);
}

/** The whole table with another document for one provider; an empty one leaves no entry behind. */
export function withProvider(gateway: readonly SettingField[], provider: string, config: ComboConfig): Value {
  const table = gateway.find(({ path }) => path === FOR_PROVIDERS)?.value;
  const { [provider]: _, ...others } = membersOf(table);
  const chosen = Object.keys(config).length > 0 ? { ...others, [provider]: config } : others;
  return Object.keys(chosen).length > 0 ? chosen : null;
}

/** The provider of all the steps, where it is one: what is said for its combos then stands below the combo's own. */
export function onlyProvider(steps: EditedCombo["models"]): string | null {
  const providers = new Set(steps.map((step) => (step.kind === "combo-ref" ? null : step.providerId)));
  const [provider = null] = providers;
  return providers.size === 1 ? provider : null;
}

/** How many settings are said, those within groups counted one by one. */
export function saidIn(config: ComboConfig): number {
  return Object.values(config).reduce<number>((sum, value) => sum + (isGroup(value) ? saidIn(value) : 1), 0);
}

/**
 * The field of a setting; `gateway` are the fields that hold for the whole gateway, `ofProvider` is what is said for the
 * combos of the provider that all steps lead to.
 */
export function comboField(
  name: string,
  config: ComboConfig,
  gateway: readonly SettingField[],
  ofProvider: ComboConfig = {},
): SettingField {
  const definition = definitions[name];
  if (!definition) throw new Error(`no setting ${name}`);
  const { kind, unit = null, min = null, max = null, choices = [] } = definition;
  const drawn = (value: Value) => (definition.share && typeof value === "number" ? toPercent(value) : value);
  const forAll = gateway.find(({ path }) => path === `${FOR_ALL}${name}` || path.endsWith(`.${FOR_ALL}${name}`));
  const inherited = forAll && forAll.source !== "default" ? forAll : undefined;
  const said = valueAt(config, name);
  const byProvider = valueAt(ofProvider, name) ?? null;
  const byDefault = drawn(byProvider ?? inherited?.value ?? definition.default);
  return {
    path: `${PREFIX}${name}`,
    kind,
    unit,
    min,
    max,
    choices: [...choices],
    default: byDefault,
    env: byProvider === null ? (inherited?.env ?? null) : null,
    environment: null,
    value: said === undefined || said === null ? byDefault : drawn(said),
    // A combo has no environment: this says that another place of the gateway decides.
    source:
      said !== undefined && said !== null ? "stored" : byProvider !== null || inherited ? "environment" : "default",
    help: "",
  };
}

/** The configuration with one setting as it was chosen on screen; `null` goes back to the default. */
export function withSetting(config: ComboConfig, name: string, chosen: Value): ComboConfig {
  const share = definitions[name]?.share === true && typeof chosen === "number";
  return withValue(config, name.split("."), share ? chosen / 100 : chosen);
}

export function valueAt(config: ComboConfig, name: string): Value | undefined {
  return name
    .split(".")
    .reduce<Value | undefined>(
      (node, part) => (typeof node === "object" && node !== null && !Array.isArray(node) ? node[part] : undefined),
      config,
    );
}

function withValue(config: ComboConfig, [part = "", ...rest]: string[], value: Value): ComboConfig {
  const next = { ...config };
  if (rest.length === 0) {
    if (value === null) delete next[part];
    else next[part] = value;
    return next;
  }
  const inner = config[part];
  const group = withValue(typeof inner === "object" && inner && !Array.isArray(inner) ? inner : {}, rest, value);
  if (Object.keys(group).length === 0) delete next[part];
  else next[part] = group;
  return next;
}

/** Ten significant digits: 0.35 times a hundred is 35. */
function toPercent(part: number): number {
  return Number((part * 100).toPrecision(10));
}
