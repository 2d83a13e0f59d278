import { describe, expect, it } from "vitest";
import { dictionaries } from "@/i18n";
import { gatewayFields } from "@/test/gateway-fields";
import { portField } from "@/test/world";
import { type ComboConfig, newStep } from "./combo-draft";
import {
  chosenForAll,
  comboField,
  nestingSettings,
  onlyProvider,
  saidIn,
  sharedSettings,
  withSetting,
} from "./combo-settings";
import { fieldWords } from "./field-words";
import { keepsConversations, settingsOf, strategies, strategyFamilies } from "./strategies";

const allNames = [
  ...Object.values(sharedSettings).flat(),
  ...strategies.flatMap((strategy) => settingsOf(strategy, "sla-aware")),
  "disableSessionStickiness",
  ...nestingSettings,
];

describe("settings of a combo", () => {
  it("have a field, and words in both languages", () => {
    for (const name of allNames) {
      const { path } = comboField(name, {}, []);
      for (const messages of Object.values(dictionaries)) expect(fieldWords(path, messages).label).not.toBe(path);
    }
  });

  it("have the bounds, the choices and the defaults of the gateway", () => {
    const ofCombo = (name: string) => comboField(name, {}, []);
    for (const name of allNames) {
      const declared = gatewayFields.find(({ path }) => path === `comboDefaults.${name}`);
      const { min, max, choices, default: byDefault } = ofCombo(name);
      const times = max === 100 && declared?.max === 1 ? 100 : 1;
      const scaled = (value: unknown) => (typeof value === "number" ? value * times : value);
      expect({ name, min, max, choices: [...choices].sort(), byDefault }).toEqual({
        name,
        min: scaled(declared?.min),
        max: scaled(declared?.max),
        choices: [...(declared?.choices ?? [])].sort(),
        byDefault: scaled(declared?.default),
      });
    }
  });

  it("of all combos are told apart from what the gateway brings itself", () => {
    const field = (name: string, value: unknown, source: "stored" | "default") =>
      ({ ...portField, path: `comboDefaults.${name}`, value, source }) as typeof portField;
    const fields = [
      field("fusion.minPanel", 3, "stored"),
      field("maxRetries", 4, "stored"),
      field("queueDepth", 20, "default"),
    ];
    expect(chosenForAll(fields)).toEqual({ fusion: { minPanel: 3 }, maxRetries: 4 });
  });

  it("show what is set here, else what holds for all combos, else the default", () => {
    const forAll = { ...portField, path: "comboDefaults.maxRetries", value: 4, source: "stored" as const };
    expect(comboField("maxRetries", {}, [])).toMatchObject({ value: 1, default: 1, source: "default" });
    expect(comboField("maxRetries", {}, [forAll])).toMatchObject({ value: 4, default: 4, source: "environment" });
    expect(comboField("maxRetries", { maxRetries: 7 }, [forAll])).toMatchObject({
      value: 7,
      default: 4,
      source: "stored",
    });
  });

  it("show what is said for the provider of all steps above what holds for all combos", () => {
    const forAll = { ...portField, path: "comboDefaults.maxRetries", value: 4, source: "stored" as const };
    const field = (config: ComboConfig) => comboField("maxRetries", config, [forAll], { maxRetries: 6 });
    expect(field({})).toMatchObject({ value: 6, default: 6, source: "environment" });
    expect(field({ maxRetries: 7 })).toMatchObject({ value: 7, default: 6, source: "stored" });
  });

  it("are counted within their groups", () => {
    expect(saidIn({ maxRetries: 1, fusion: { minPanel: 2, judgeModel: "a/b" }, resetWindowNames: ["weekly"] })).toBe(4);
  });

  it("are those of a provider only where all steps lead to it", () => {
    const step = (providerId: string) => newStep({ kind: "provider-wildcard", providerId, modelPattern: "*" });
    expect(onlyProvider([step("a"), step("a")])).toBe("a");
    expect(onlyProvider([step("a"), step("b")])).toBeNull();
    expect(onlyProvider([step("a"), newStep({ kind: "combo-ref", comboName: "team" })])).toBeNull();
    expect(onlyProvider([])).toBeNull();
  });

  it("show shares as percentages, and keep them as shares", () => {
    expect(comboField("handoffThreshold", {}, [])).toMatchObject({ value: 85, max: 100, unit: "percent" });
    expect(comboField("resetAwareSessionWeight", { resetAwareSessionWeight: 0.07 }, [])).toMatchObject({ value: 7 });
    expect(withSetting({}, "handoffThreshold", 90)).toEqual({ handoffThreshold: 0.9 });
    // Stored as percentages by the gateway itself.
    expect(withSetting({}, "resetAwareTieBandPercent", 5)).toEqual({ resetAwareTieBandPercent: 5 });
  });

  it("go into their group, and out of it together with the group", () => {
    const set = withSetting({ maxRetries: 2 }, "fusion.minPanel", 3);
    expect(set).toEqual({ maxRetries: 2, fusion: { minPanel: 3 } });
    expect(withSetting(set, "fusion.minPanel", null)).toEqual({ maxRetries: 2 });
    expect(withSetting({ fusion: { minPanel: 3, judgeModel: "a/b" } }, "fusion.minPanel", null)).toEqual({
      fusion: { judgeModel: "a/b" },
    });
  });
});

describe("strategies", () => {
  it("are nineteen, each in one family, each in one sentence", () => {
    expect(new Set(strategies).size).toBe(19);
    expect(Object.values(strategyFamilies).flat()).toHaveLength(19);
    for (const { combos } of Object.values(dictionaries)) {
      for (const strategy of strategies) expect(combos.strategies[strategy].help).toMatch(/\.$/);
    }
  });

  it("show only their own settings", () => {
    expect(settingsOf("priority")).toEqual([]);
    expect(settingsOf("weighted")).toEqual(["stickyWeightedLimit"]);
    expect(settingsOf("auto")).not.toContain("autoConfig.slaTargetP95Ms");
    expect(settingsOf("auto", "sla-aware")).toContain("autoConfig.slaTargetP95Ms");
  });

  it("keep conversations where neither the order nor spreading is the point", () => {
    expect(strategies.filter((strategy) => !keepsConversations(strategy)).sort()).toEqual([
      "context-relay",
      "fill-first",
      "fusion",
      "pipeline",
      "priority",
      "random",
      "round-robin",
      "strict-random",
    ]);
  });
});
