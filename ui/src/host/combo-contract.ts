/**
 * What the gateway says about combos and simulations (gateway specification, 3.1 and 6.1), in the form of `bindings.ts`.
 * It stands here until the program's own bindings carry the same names; `operations.ts` joins the two.
 */
import type { ControlError, Done, Topic, Value } from "@/bindings";

export type Strategy =
  | "priority"
  | "weighted"
  | "round-robin"
  | "context-relay"
  | "fill-first"
  | "p2c"
  | "random"
  | "least-used"
  | "cost-optimized"
  | "reset-aware"
  | "reset-window"
  | "headroom"
  | "strict-random"
  | "auto"
  | "lkgp"
  | "context-optimized"
  | "cache-optimized"
  | "fusion"
  | "pipeline";

export type StepCommon = {
  /** Stable over edits. */
  id: string;
  /** 0 to 100. */
  weight: number;
  enabled: boolean;
  label?: string | null;
};

export type ModelStep = StepCommon & {
  kind: "model";
  /** `provider/model`. */
  model: string;
  providerId: string;
  connectionId?: string | null;
  allowedConnectionIds?: string[];
  prompt?: string | null;
  tags?: string[];
  fallbackOnlyOnQuotaExhaustion?: boolean;
};
export type ComboRefStep = StepCommon & { kind: "combo-ref"; comboName: string };
export type WildcardStep = StepCommon & { kind: "provider-wildcard"; providerId: string; modelPattern: string };
export type Step = ModelStep | ComboRefStep | WildcardStep;

/** Overrides of the defaults, by wire name. */
export type ComboConfig = { [key in string]: Value };

export type ComboDraft = {
  id?: string;
  name: string;
  strategy: Strategy;
  models: Step[];
  config: ComboConfig;
  system_message: string | null;
  context_cache_protection: boolean;
  isHidden: boolean;
  isActive: boolean;
};

export type Combo = Omit<ComboDraft, "id" | "system_message"> & {
  id: string;
  system_message?: string | null;
  order: number;
  createdAt: string;
  updatedAt: string;
};

export type ComboChange = Partial<Omit<ComboDraft, "id">> & { updatedAt?: string };

/** What is worth knowing and forbids nothing. */
export type ComboWarning = {
  code: "COMBO_NAME_SHADOWS_MODEL" | "MODEL_UNKNOWN";
  modelId: string;
  providerId: string;
};

export type ComboReply = { combo: Combo; warnings: ComboWarning[] };
export type Combos = { combos: Combo[] };
export type ComboFilter = { includeHidden?: boolean };
export type ComboOrder = { ids: string[] };
export type ComboCopy = { name: string };
/** `{version: 2, combos: […]}`; the import also reads a bare list and a single combo. */
export type ComboDocument = Value;
export type ComboImport = { document: ComboDocument; replace: boolean };

export type PreviewRequest = { tools: number; vision: boolean; inputTokens: number; outputTokens: number };
export type PreviewQuery = { combo: string | ComboDraft; request: PreviewRequest };

export type PreviewExclusion = { mechanism: string; reason: string; until: string | null; retryAfterMs: number | null };

/** One part of a score. A strategy that compares one figure gives it no weight. */
export type PreviewFactor = { factor: string; value: number; weight: number | null; share: number | null };

export type PreviewTarget = {
  /** 1 is tried first. */
  position: number;
  executionKey: string;
  provider: string;
  model: string;
  connectionId: string | null;
  connectionName: string | null;
  /** What put it there. */
  placed: string;
  available: boolean;
  exclusion: PreviewExclusion | null;
  score: number | null;
  factors: PreviewFactor[];
};

export type PreviewSkip = { step: string; what: string; reason: string };

export type ComboPreview = {
  strategy: Strategy;
  targets: PreviewTarget[];
  /** Steps that led to no target. */
  skipped: PreviewSkip[];
  answer: { status: number; code: string; retryAfterSeconds: number | null } | null;
};

export type SimulationRequest =
  | { mode: "selections"; model: string; runs: number; seed?: number }
  | { mode: "replay"; hours: number; combo?: string; seed?: number; change: SimulatedChange };

export type SimulatedChange = {
  settings?: { [key in string]: Value };
  combo?: { strategy?: Strategy; config?: ComboConfig; models?: Step[] };
};

export type Selection = {
  executionKey: string;
  provider: string;
  model: string;
  connectionId: string | null;
  first: number;
};
export type Selections = { runs: number; seed: number; histogram: Selection[]; exhausted: number };

export type ReplayFigures = {
  failuresSeenByClient: number;
  waits: number;
  waitMs: number;
  dispatches: number;
  switches: number;
  /** US dollars. */
  cost: number;
};
export type Replay = {
  seed: number;
  since: string;
  until: string;
  requests: number;
  before: ReplayFigures;
  after: ReplayFigures;
};

type Reply<T> = Promise<{ status: "ok"; data: T } | { status: "error"; error: ControlError }>;

export type ComboCommands = {
  combos_list(input: ComboFilter): Reply<Combos>;
  combo_get(id: string): Reply<ComboReply>;
  combo_create(input: ComboDraft): Reply<ComboReply>;
  combo_update(id: string, input: ComboChange): Reply<ComboReply>;
  combo_delete(id: string): Reply<Done>;
  combos_reorder(input: ComboOrder): Reply<Combos>;
  combo_duplicate(id: string, input: ComboCopy): Reply<{ combo: Combo }>;
  combos_export(): Reply<ComboDocument>;
  combos_import(input: ComboImport): Reply<Combos>;
  combo_preview(input: PreviewQuery): Reply<ComboPreview>;
  routing_simulate(input: SimulationRequest): Reply<Selections | Replay>;
};

type Row = {
  name: keyof ComboCommands;
  kind: "read" | "change";
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  topics: readonly Topic[];
};

export const comboOperations = [
  { name: "combos_list", kind: "read", method: "GET", path: "/api/combos", topics: ["combos"] },
  { name: "combo_get", kind: "read", method: "GET", path: "/api/combos/{id}", topics: ["combos"] },
  { name: "combo_create", kind: "change", method: "POST", path: "/api/combos", topics: ["combos"] },
  { name: "combo_update", kind: "change", method: "PATCH", path: "/api/combos/{id}", topics: ["combos"] },
  { name: "combo_delete", kind: "change", method: "DELETE", path: "/api/combos/{id}", topics: ["combos"] },
  { name: "combos_reorder", kind: "change", method: "PUT", path: "/api/combos/order", topics: ["combos"] },
  { name: "combo_duplicate", kind: "change", method: "POST", path: "/api/combos/{id}/duplicate", topics: ["combos"] },
  { name: "combos_export", kind: "read", method: "GET", path: "/api/combos/export", topics: ["combos"] },
  { name: "combos_import", kind: "change", method: "POST", path: "/api/combos/import", topics: ["combos"] },
  {
    name: "combo_preview",
    kind: "read",
    method: "POST",
    path: "/api/combos/preview",
    topics: ["connections", "cooldowns", "breakers", "lockouts", "combos"],
  },
  { name: "routing_simulate", kind: "change", method: "POST", path: "/api/routing/simulate", topics: [] },
] as const satisfies readonly Row[];
