/** Combos, and what the gateway says of them, as it sends it. */
import type {
  Combo,
  ComboMapping,
  ComboMetric,
  ComboPreviewed,
  PreviewedTarget,
  Replayed,
  ReplayFigures,
  RoutingSimulated,
} from "@/bindings";
import { type EditedCombo, type ModelStep, newStep } from "@/lib/combo-draft";
import { type Answers, refuse } from "./fake-host";

export function modelStep(id: string, model: string, part: Partial<ModelStep> = {}): ModelStep {
  const [providerId = ""] = model.split("/");
  return { ...(newStep({ kind: "model", model, providerId }) as ModelStep), id, ...part };
}

export function combo(name: string, part: Partial<Combo> = {}): Combo {
  return {
    id: `id-${name}`,
    name,
    strategy: "priority",
    models: [],
    config: {},
    system_message: null,
    compositeTiers: null,
    context_cache_protection: false,
    isHidden: false,
    isActive: true,
    order: 0,
    createdAt: "2026-01-01T00:00:00.000Z",
    updatedAt: "2026-01-01T00:00:00.000Z",
    ...part,
  };
}

export function target(position: number, model: string, part: Partial<PreviewedTarget> = {}): PreviewedTarget {
  return {
    position,
    executionKey: `s${position}@c${position}`,
    provider: "anthropic",
    model,
    connectionId: `c${position}`,
    connectionName: `Account ${position}`,
    placed: "strategy",
    available: true,
    exclusion: null,
    score: null,
    factors: [],
    ...part,
  };
}

export function preview(part: Partial<ComboPreviewed> = {}): ComboPreviewed {
  return { strategy: "priority", targets: [], skipped: [], answer: null, ...part };
}

const figures: ReplayFigures = { failuresSeenByClient: 0, waits: 0, waitMs: 0, dispatches: 0, switches: 0, cost: 0 };

export function replay(before: Partial<ReplayFigures>, after: Partial<ReplayFigures>, requests = 40): Replayed {
  return {
    seed: 7,
    since: "2026-01-01T00:00:00.000Z",
    until: "2026-01-02T00:00:00.000Z",
    requests,
    before: { ...figures, ...before },
    after: { ...figures, ...after },
  };
}

export function metric(id: string, part: Partial<ComboMetric> = {}): ComboMetric {
  const asked = { requests: 0, successes: 0, failures: 0, p50Ms: null, p95Ms: null, lastUsedAt: null };
  return { id, name: id, ...asked, targets: [], ...part };
}

type Kept = {
  combos: Combo[];
  metrics: ComboMetric[];
  mappings: ComboMapping[];
  preview: ComboPreviewed;
  outcome: RoutingSimulated;
};

/** A gateway with these combos, which changes of the window really change. */
export function comboWorld(part: Partial<Kept> = {}): Answers {
  const state: Kept = {
    combos: [],
    metrics: [],
    mappings: [],
    preview: preview(),
    outcome: replay({}, {}, 0),
    ...part,
  };
  const find = (id: string) => state.combos.find((one) => one.id === id) ?? refuse({ code: "not_found" });
  const keep = (made: Combo) => {
    const known = state.combos.some(({ id }) => id === made.id);
    state.combos = known ? state.combos.map((one) => (one.id === made.id ? made : one)) : [...state.combos, made];
    return { combo: made, warnings: [] };
  };
  return {
    combos_list: () => ({ combos: state.combos }),
    combo_get: ({ id }) => ({ combo: find(id), warnings: [] }),
    combos_metrics: () => ({ combos: state.metrics }),
    combo_create: (draft) => keep(combo(draft.name, draft as EditedCombo)),
    combo_update: ({ id, ...change }) =>
      keep({ ...find(id), ...(change as EditedCombo), updatedAt: "2026-01-02T00:00:00.000Z" }),
    combo_delete: ({ id }) => {
      state.combos = state.combos.filter((one) => one.id !== id);
      return { ok: true };
    },
    combo_duplicate: ({ id, name }) => {
      const copy = name ?? `${find(id).name} copy`;
      return keep({ ...find(id), id: `id-${copy}`, name: copy });
    },
    combos_reorder: ({ ids }) => {
      state.combos = ids.map(find);
      return { combos: state.combos };
    },
    combos_export: () => ({ version: 2, combos: state.combos }),
    combos_import: () => ({ combos: [keep(combo("imported")).combo], warnings: [] }),
    combo_mappings_list: () => ({ mappings: state.mappings }),
    combo_mapping_create: (draft) => {
      const stamps = { createdAt: "2026-01-01T00:00:00.000Z", updatedAt: "2026-01-01T00:00:00.000Z" };
      const { comboId, pattern, priority, enabled } = draft;
      const id = `m${state.mappings.length + 1}`;
      const made = { id, comboId, pattern, priority: priority ?? 0, enabled: enabled ?? true, ...stamps };
      state.mappings = [...state.mappings, made];
      return { mapping: made };
    },
    combo_mapping_update: ({ id, ...change }) => {
      state.mappings = state.mappings.map((one) => (one.id === id ? ({ ...one, ...change } as ComboMapping) : one));
      return { mapping: state.mappings.find((one) => one.id === id) as ComboMapping };
    },
    combo_mapping_delete: ({ id }) => {
      state.mappings = state.mappings.filter((one) => one.id !== id);
      return { ok: true };
    },
    combo_preview: () => state.preview,
    routing_simulate: () => state.outcome,
  };
}
