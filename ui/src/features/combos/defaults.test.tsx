import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { SettingField, Value } from "@/bindings";
import { combo, comboWorld } from "@/test/combo-world";
import { fakeHost, refuse } from "@/test/fake-host";
import { gatewayFields } from "@/test/gateway-fields";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

const at = "/combos/defaults";

function gateway(stored: Record<string, Value> = {}) {
  const fields = gatewayFields.map((field): SettingField => {
    const value = stored[field.path];
    return value === undefined ? field : { ...field, value, source: "stored" };
  });
  return { ...world({ fields }), settings_update: () => ({ sources: {} }) };
}

describe("what every combo does", () => {
  it("is reached from the list of combos", async () => {
    const { user, path } = open("/combos", fakeHost({ ...gateway(), ...comboWorld({ combos: [combo("team")] }) }));
    await user.click(await screen.findByRole("button", { name: "More" }));
    await user.click(await screen.findByRole("menuitem", { name: "What every combo does" }));
    await waitFor(() => expect(path()).toBe(at));
    expect(await screen.findByRole("heading", { level: 1, name: "Every combo" })).toBeVisible();
  });

  it("is saved at once, setting by setting", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const retries = await screen.findByLabelText("Tries again");
    await user.clear(retries);
    await user.type(retries, "4{Enter}");
    expect(host.calls("settings_update")).toEqual([{ comboDefaults: { maxRetries: 4 } }]);
  });

  it("shows what was chosen, and goes back to the default", async () => {
    const host = fakeHost(gateway({ "comboDefaults.fusion.minPanel": 3 }));
    const { user } = open(at, host);
    // What was chosen is in sight, what was not is folded.
    expect(await screen.findByLabelText("Answers to wait for")).toHaveValue("3");
    expect(screen.queryByLabelText("Requests per draw")).not.toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Reset Answers to wait for" }));
    expect(host.calls("settings_update")).toEqual([{ comboDefaults: { fusion: { minPanel: null } } }]);
  });

  it("keeps shares as shares", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Only for Context relay" }));
    const threshold = screen.getByLabelText("Write a summary from");
    await user.clear(threshold);
    await user.type(threshold, "90{Enter}");
    expect(host.calls("settings_update")).toEqual([{ comboDefaults: { handoffThreshold: 0.9 } }]);
  });

  it("has a balance for those that score", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Only for Auto" }));
    await user.selectOptions(screen.getByLabelText("Balance"), "Low cost first");
    expect(host.calls("settings_update")).toEqual([{ comboDefaults: { autoConfig: { modePack: "cost-saver" } } }]);
  });

  it("says beside the setting why it was refused", async () => {
    const details = [{ field: "comboDefaults.maxRetries", message: "must be between 0 and 3" }];
    const host = fakeHost({ ...gateway(), settings_update: () => refuse({ code: "invalid_request", details }) });
    const { user } = open(at, host);
    const retries = await screen.findByLabelText("Tries again");
    await user.clear(retries);
    await user.type(retries, "4{Enter}");
    await waitFor(() => expect(retries).toBeInvalid());
  });

  it("opens what the address names", async () => {
    open(`${at}#comboDefaults.queueDepth`, fakeHost(gateway()));
    await waitFor(() => expect(screen.getByLabelText("Waiting requests")).toHaveFocus());
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway({ "comboDefaults.autoConfig.modePack": "cost-saver" })));
    await screen.findByLabelText("Balance");
    await expectAccessible(container);
  });
});
