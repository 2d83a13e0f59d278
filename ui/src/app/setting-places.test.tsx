import { waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { FeatureFlag } from "@/bindings";
import { dictionaries } from "@/i18n";
import { fieldWords } from "@/lib/field-words";
import { settingKey } from "@/lib/setting-key";
import { type SettingPlace, settingPlace } from "@/lib/setting-place";
import { fakeHost } from "@/test/fake-host";
import { gatewayFields } from "@/test/gateway-fields";
import { open } from "@/test/render";
import { world } from "@/test/world";

/** Settings without a screen, and why. One that ends in a dot stands for all below it. */
const withoutPlace: Readonly<Record<string, string>> = {
  "routing.accountStrategy": "is one line of every provider's own page",
  "routing.stickyRoundRobinLimit": "is drawn on a provider's page, while that provider takes turns",
  "streamRecovery.enabled": "no stream is opened again yet",
  "streamRecovery.continueMidStream": "no stream is continued yet",
  "tokenRefreshBreaker.": "no token is refreshed yet",
  providerQuotaOverrides: "a table for installations; the management API takes it",
  providerOverrides: "has a page at every provider's own",
  "comboDefaults.fallbackCompressionMode": "kept for documents that carry it; prompts are never compressed",
  "comboDefaults.fallbackCompressionThreshold": "kept for documents that carry it; prompts are never compressed",
  "comboDefaults.shadowRouting.": "no copies are sent yet",
  "comboDefaults.evalRouting": "cannot be switched on yet",
  "comboDefaults.autoConfig.weights": "are chosen by a ready-made balance; each combo can weigh for itself",
};

function excused(path: string): boolean {
  const key = settingKey(path);
  return Object.keys(withoutPlace).some((name) => (name.endsWith(".") ? key.startsWith(name) : key === name));
}

const placed = gatewayFields.flatMap(({ path }) => {
  const place = settingPlace(path);
  return place ? [{ path, place }] : [];
});
const places = [...new Set(placed.map(({ place }) => place))];

/** The switches of the flags' screen, which are settings under another name. */
const flags: FeatureFlag[] = gatewayFields
  .filter(({ env, kind, path }) => env !== null && kind === "boolean" && settingPlace(path) === "/settings/flags")
  .map(({ path, env }) => ({
    name: env ?? "",
    group: "routing",
    setting: path,
    kind: "boolean",
    choices: [],
    value: false,
    default: false,
    source: "default",
    environment: null,
    restartNeeded: false,
    help: "",
  }));

describe("every setting of the gateway", () => {
  it("has a place in the window, or a reason to have none", () => {
    const lost = gatewayFields.filter(({ path }) => settingPlace(path) === undefined && !excused(path));
    expect(lost.map(({ path }) => path)).toEqual([]);
  });

  it("has only one of the two, and no reason outlives its setting", () => {
    expect(placed.filter(({ path }) => excused(path))).toEqual([]);
    const reasons = Object.keys(withoutPlace).filter(
      (name) => !gatewayFields.some(({ path }) => settingKey(path) === name || settingKey(path).startsWith(name)),
    );
    expect(reasons).toEqual([]);
  });

  it("is called by a name in both languages", () => {
    const nameless = Object.values(dictionaries).flatMap((messages) =>
      placed.filter(({ path }) => fieldWords(path, messages).label === path),
    );
    expect(nameless).toEqual([]);
  });

  it.each(places)("of %s is drawn there", async (place: SettingPlace) => {
    const host = fakeHost({
      ...world({ fields: [...gatewayFields] }),
      feature_flags_list: () => ({ flags }),
      model_cooldowns_list: () => ({ items: [] }),
    });
    const { container, user } = open(place, host);
    await waitFor(() => expect(container.querySelector("[data-setting]")).not.toBeNull());
    for (const fold of container.querySelectorAll("h2 button[aria-expanded=false]")) await user.click(fold);
    const wanted = placed.filter((setting) => setting.place === place).map(({ path }) => settingKey(path));
    await waitFor(() => {
      const missing = wanted.filter((key) => container.querySelector(`[data-setting="${key}"]`) === null);
      expect(missing).toEqual([]);
    });
  });
});
