/**
 * What the gateway says about combos and simulations (gateway specification, 3.1 and 6.1), in the form of `bindings.ts`.
 * It stands here until the program's own bindings carry the same names; `operations.ts` joins the two.
 */
import type { ControlError, Done, Instant, Topic, Value } from "@/bindings";

/**  One name, many models behind it. */
export type Combo = {
  id: string;
  /**  What clients send as the model. */
  name: string;
  strategy: Strategy;
  models: ComboStep[];
  /**  Overrides of `comboDefaults` in the settings; what is not said is theirs. */
  config: { [key in string]: Value };
  /**  Put before the request's own system text. */
  system_message: string | null;
  /**  Keep one target for a conversation while it is healthy. */
  context_cache_protection: boolean;
  /**  Works, but is not listed. */
  isHidden: boolean;
  isActive: boolean;
  order: number;
  compositeTiers: CompositeTiers | null;
  createdAt: Instant;
  updatedAt: Instant;
};

/**  What is different from now on, see [`ComboChangeFields`]. */
export type ComboChange = ComboChangeFields;

/**  The members of a [`ComboChange`]: absent ones stay, `null` unsets; `config` is merged, steps are replaced whole. */
export type ComboChangeFields = {
  /**  Combos and aliases that lead to the old name lead to the new one. */
  name?: string | null;
  strategy?: Strategy | null;
  models?: ComboStepInput[] | null;
  config?: { [key in string]: Value } | null;
  system_message?: string | null;
  context_cache_protection?: boolean | null;
  isHidden?: boolean | null;
  isActive?: boolean | null;
  compositeTiers?: CompositeTiers | null;
  /**  As it was read: the change is refused when the combo has changed since. */
  updatedAt?: Instant | null;
};

export type ComboCopy = {
  /**  Name of the copy; one made from the combo's when absent. */
  name?: string | null;
};

/**  Combos as one installation hands them to another: `{"version": 2, "combos": […]}`. */
export type ComboDocument = {
  version: number;
  combos: Value[];
};

/**  A new combo, see [`ComboFields`]. */
export type ComboDraft = ComboFields;

/**  The members of a [`ComboDraft`]. */
export type ComboFields = {
  name: string;
  /**  `priority` when absent. */
  strategy?: Strategy | null;
  models: ComboStepInput[];
  config?: { [key in string]: Value } | null;
  system_message?: string | null;
  context_cache_protection?: boolean | null;
  isHidden?: boolean | null;
  isActive?: boolean | null;
  compositeTiers?: CompositeTiers | null;
};

export type ComboFilter = {
  /**  Whether hidden combos are listed too. */
  includeHidden?: boolean | null;
};

/**  Combos to take over. */
export type ComboImport = {
  /**  A [`ComboDocument`]; a list of combos and a single combo are read too. */
  document: Value;
  taken?: ComboNameTaken;
};

/**  What an import does with a name that is taken. */
export type ComboNameTaken =
  /**  It is refused and says which. */
  | "refuse"
  /**  The combo of that name becomes the imported one and keeps its id and place. */
  | "replace";

/**  Every combo once, in the new order. */
export type ComboOrder = {
  ids: string[];
};

export type ComboReply = {
  combo: Combo;
  warnings: ComboWarning[];
};

export type ComboSelection = {
  /**  Only this combo and those it leads to; all when absent. */
  id?: string | null;
};

/**  One line of a combo. `weight` is 0–100. */
export type ComboStep =
  | {
      kind: "model";
      id: string;
      /**  `provider/model`. */
      model: string;
      providerId: string;
      /**  The one account that may serve it. */
      connectionId: string | null;
      /**  The accounts that may serve it; empty, all. */
      allowedConnectionIds: string[];
      weight: number;
      enabled: boolean;
      label: string | null;
      /**  `fusion`, `pipeline`: what this step is told. */
      prompt: string | null;
      tags: string[];
      fallbackOnlyOnQuotaExhaustion: boolean;
    }
  /**  The steps of another combo, or its choice. */
  | { kind: "combo-ref"; id: string; comboName: string; weight: number; enabled: boolean; label: string | null }
  /**  Every enabled model of a provider whose id matches. */
  | {
      kind: "provider-wildcard";
      id: string;
      providerId: string;
      /**  `*` stands for any run of characters. */
      modelPattern: string;
      weight: number;
      enabled: boolean;
      label: string | null;
    };

/**  A step in full. `kind` may be left out where the other members show it; without `id` it gets a new one. */
export type ComboStepFields = {
  id?: string | null;
  /**  `model`, `combo-ref` or `provider-wildcard`. */
  kind?: string | null;
  model?: string | null;
  providerId?: string | null;
  connectionId?: string | null;
  allowedConnectionIds?: string[] | null;
  comboName?: string | null;
  modelPattern?: string | null;
  weight?: number | null;
  enabled?: boolean | null;
  label?: string | null;
  prompt?: string | null;
  tags?: string[] | null;
  fallbackOnlyOnQuotaExhaustion?: boolean | null;
};

export type ComboTier = {
  stepId: string;
  fallbackTier?: string | null;
};

/**  A step, or shorthand for one: the name of a combo, `provider/pattern*`, `provider/model`. */
export type ComboStepInput = string | ComboStepFields;

/**  Worth knowing, and no reason to refuse. */
export type ComboWarning = {
  code: ComboWarningCode;
  modelId: string;
  providerId: string;
};

export type ComboWarningCode =
  /**  The combo is served where this model was asked for by the same name. */
  | "COMBO_NAME_SHADOWS_MODEL"
  /**  The provider does not list this model; it is sent as it is (decision 38). */
  | "MODEL_UNKNOWN"
  /**  This model's step is bound to an account that does not exist here. */
  | "CONNECTION_UNKNOWN";

export type Combos = {
  combos: Combo[];
};

/**  What an import brought. */
export type CombosImported = {
  combos: Combo[];
  warnings: ComboWarning[];
};

/**  Another order of the steps, for `priority`: the default tier first, then its fallbacks, then the rest as listed. */
export type CompositeTiers = {
  defaultTier: string;
  tiers: { [key in string]: ComboTier };
};

/**  How a combo chooses. `quota-share` is internal: no combo can be given it. */
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
  | "pipeline"
  | "quota-share";

/**  Model names that match the pattern mean the combo. */
export type ComboMapping = {
  id: string;
  /**  `*` stands for any run of characters. */
  pattern: string;
  comboId: string;
  /**  The highest is asked first; of equals, the oldest. */
  priority: number;
  enabled: boolean;
  createdAt: Instant;
  updatedAt: Instant;
};

export type ComboMappingChange = {
  pattern?: string | null;
  comboId?: string | null;
  priority?: number | null;
  enabled?: boolean | null;
  /**  As it was read: the change is refused when the mapping has changed since. */
  updatedAt?: Instant | null;
};

export type ComboMappingDraft = {
  pattern: string;
  comboId: string;
  /**  0 when absent. */
  priority?: number | null;
  /**  True when absent. */
  enabled?: boolean | null;
};

export type ComboMappingReply = {
  mapping: ComboMapping;
};

export type ComboMappings = {
  /**  In the order in which they are asked. */
  mappings: ComboMapping[];
};

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
  combo?: { strategy?: Strategy; config?: { [key in string]: Value }; models?: ComboStepInput[] };
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
  combo_duplicate(id: string, input: ComboCopy): Reply<ComboReply>;
  combos_export(input: ComboSelection): Reply<ComboDocument>;
  combos_import(input: ComboImport): Reply<CombosImported>;
  combo_mappings_list(): Reply<ComboMappings>;
  combo_mapping_create(input: ComboMappingDraft): Reply<ComboMappingReply>;
  combo_mapping_update(id: string, input: ComboMappingChange): Reply<ComboMappingReply>;
  combo_mapping_delete(id: string): Reply<Done>;
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
  { name: "combo_get", kind: "read", method: "GET", path: "/api/combos/{id}", topics: ["combos", "connections"] },
  { name: "combo_create", kind: "change", method: "POST", path: "/api/combos", topics: ["combos"] },
  { name: "combo_update", kind: "change", method: "PATCH", path: "/api/combos/{id}", topics: ["combos"] },
  { name: "combo_delete", kind: "change", method: "DELETE", path: "/api/combos/{id}", topics: ["combos"] },
  { name: "combos_reorder", kind: "change", method: "PUT", path: "/api/combos/order", topics: ["combos"] },
  { name: "combo_duplicate", kind: "change", method: "POST", path: "/api/combos/{id}/duplicate", topics: ["combos"] },
  { name: "combos_export", kind: "read", method: "GET", path: "/api/combos/export", topics: ["combos"] },
  { name: "combos_import", kind: "change", method: "POST", path: "/api/combos/import", topics: ["combos"] },
  { name: "combo_mappings_list", kind: "read", method: "GET", path: "/api/model-combo-mappings", topics: ["combos"] },
  {
    name: "combo_mapping_create",
    kind: "change",
    method: "POST",
    path: "/api/model-combo-mappings",
    topics: ["combos"],
  },
  {
    name: "combo_mapping_update",
    kind: "change",
    method: "PATCH",
    path: "/api/model-combo-mappings/{id}",
    topics: ["combos"],
  },
  {
    name: "combo_mapping_delete",
    kind: "change",
    method: "DELETE",
    path: "/api/model-combo-mappings/{id}",
    topics: ["combos"],
  },
  {
    name: "combo_preview",
    kind: "read",
    method: "POST",
    path: "/api/combos/preview",
    topics: ["connections", "cooldowns", "breakers", "lockouts", "combos"],
  },
  { name: "routing_simulate", kind: "change", method: "POST", path: "/api/routing/simulate", topics: [] },
] as const satisfies readonly Row[];
