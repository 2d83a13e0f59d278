import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SettingField, Value } from "@/bindings";
import { combo, comboWorld } from "@/test/combo-world";
import { fakeHost, refuse } from "@/test/fake-host";
import { gatewayFields } from "@/test/gateway-fields";
import { expectAccessible, open } from "@/test/render";
import { anthropic, connection, world } from "@/test/world";

const at = "/providers/anthropic/combos";

function gateway(overrides: Value = {}, stored: Record<string, Value> = {}) {
  const values: Record<string, Value> = {
    ...stored,
    ...(Object.keys(overrides as object).length > 0 && { providerOverrides: overrides }),
  };
  const fields = gatewayFields.map((field): SettingField => {
    const value = values[field.path];
    return value === undefined ? field : { ...field, value, source: "stored" };
  });
  return {
    ...world({ providers: [anthropic], connections: [connection("one")], fields }),
    settings_update: () => ({ sources: {} }),
  };
}

const rowOf = (label: string) => {
  const row = screen.getByText(label, { selector: "label *, label" }).closest("[class*=min-h-12]");
  return within(row as HTMLElement);
};

describe("what combos do at one provider alone", () => {
  it("is reached from the provider's page, which says how much is set", async () => {
    const overrides = { anthropic: { maxRetries: 3, fusion: { minPanel: 4 } } };
    const { user, path } = open("/providers/anthropic", fakeHost(gateway(overrides)));
    expect(await screen.findByText("2 set here")).toBeVisible();
    await user.click(screen.getByRole("link", { name: "Change" }));
    await waitFor(() => expect(path()).toBe(at));
    expect(await screen.findByRole("heading", { level: 1, name: "Combos of Anthropic" })).toBeVisible();
  });

  it("is reached from the menu as well, however long the list above it", async () => {
    const { user, path } = open("/providers/anthropic", fakeHost(gateway()));
    await user.click(await screen.findByRole("button", { name: "More options" }));
    await user.click(await screen.findByRole("menuitem", { name: "What combos do here" }));
    await waitFor(() => expect(path()).toBe(at));
  });

  it("keeps what other providers have when one setting of this one is saved", async () => {
    const host = fakeHost(gateway({ openai: { queueDepth: 5 }, anthropic: { maxRetries: 3 } }));
    const { user } = open(at, host);
    const longest = await screen.findByLabelText("Longest attempt");
    await user.clear(longest);
    await user.type(longest, "1{Enter}");
    expect(host.calls("settings_update")).toEqual([
      { providerOverrides: { openai: { queueDepth: 5 }, anthropic: { maxRetries: 3, targetTimeoutMs: 60_000 } } },
    ]);
  });

  it("is reset setting by setting, and leaves nothing behind", async () => {
    const host = fakeHost(gateway({ anthropic: { maxRetries: 3 } }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Reset Tries again" }));
    expect(host.calls("settings_update")).toEqual([{ providerOverrides: null }]);
  });

  it("shows what holds for all combos where nothing is said", async () => {
    open(at, fakeHost(gateway({}, { "comboDefaults.maxRetries": 7 })));
    expect(await screen.findByLabelText("Tries again")).toHaveValue("7");
    expect(rowOf("Tries again").getByText("all combos")).toBeVisible();
    expect(rowOf("Pause before a retry").getByText("default")).toBeVisible();
  });

  it("says beside the setting why it was refused", async () => {
    const details = [{ field: "providerOverrides.anthropic.maxRetries", message: "expected at most 3" }];
    const host = fakeHost({ ...gateway(), settings_update: () => refuse({ code: "invalid_request", details }) });
    const { user } = open(at, host);
    const retries = await screen.findByLabelText("Tries again");
    await user.clear(retries);
    await user.type(retries, "4{Enter}");
    await waitFor(() => expect(retries).toBeInvalid());
  });

  it("is named in a combo whose steps all lead to that provider", async () => {
    const team = combo("team", {
      models: ["anthropic/m1", "anthropic/m2"].map((model, index) => ({
        kind: "model",
        id: `s${index}`,
        model,
        providerId: "anthropic",
        connectionId: null,
        allowedConnectionIds: [],
        prompt: null,
        tags: [],
        fallbackOnlyOnQuotaExhaustion: false,
        weight: 0,
        enabled: true,
        label: null,
      })),
    });
    const host = fakeHost({ ...gateway({ anthropic: { maxRetries: 3 } }), ...comboWorld({ combos: [team] }) });
    const { user } = open(`/combos/${team.id}`, host);
    await user.click(await screen.findByRole("button", { name: /Retries, limits and speed/ }));
    expect(screen.getByLabelText("Tries again")).toHaveValue("3");
    expect(rowOf("Tries again").getByText("its provider")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway({ anthropic: { autoConfig: { modePack: "ship-fast" } } })));
    await screen.findByLabelText("Balance");
    await expectAccessible(container);
  });
});
