import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { newStep } from "@/lib/combo-draft";
import { combo, comboWorld, modelStep } from "@/test/combo-world";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

const team = combo("team", { models: [modelStep("s1", "anthropic/claude"), modelStep("s2", "openai/gpt")] });
const spare = combo("spare", { strategy: "round-robin", isHidden: true });
const other = combo("other", { strategy: "weighted", isActive: false });
const alias = (name: string, target: string) => ({
  id: name,
  alias: name,
  target,
  createdAt: "2026-01-01T00:00:00.000Z",
});
const gateway = (...combos: (typeof team)[]) => ({ ...world(), ...comboWorld({ combos }) });

const importButton = () => within(screen.getByRole("complementary")).getByRole("button", { name: "Import" });

describe("the list of combos", () => {
  it("says what a combo is for, and holds the way to the first", async () => {
    const { user, path } = open("/combos", fakeHost(gateway()));
    expect(await screen.findByRole("heading", { name: "No combo yet" })).toBeVisible();
    expect(screen.getByRole("button", { name: "Import" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "New combo" }));
    await waitFor(() => expect(path()).toBe("/combos/new"));
  });

  it("shows strategy and steps of each, and hidden ones when asked", async () => {
    const { user } = open("/combos", fakeHost(gateway(team, spare, other)));
    const grid = await screen.findByRole("grid", { name: "Combos" });
    expect(grid).toHaveTextContent(/team.*Priority.*anthropic\/claude.*openai\/gpt/);
    expect(grid).not.toHaveTextContent("spare");
    await user.click(screen.getByRole("button", { name: "Show hidden (1)" }));
    expect(grid).toHaveTextContent(/spare.*hidden.*Round robin/);
  });

  it("is put in order by keyboard, those out of sight included", async () => {
    const host = fakeHost(gateway(team, spare, other));
    const { user } = open("/combos", host);
    const handle = await screen.findByRole("button", { name: "Move other, position 2 of 2" });
    handle.focus();
    await user.keyboard("{ArrowUp}");
    expect(await screen.findByText("other is now at position 1 of 2")).toBeInTheDocument();
    await waitFor(() => expect(host.calls("combos_reorder")).toEqual([{ ids: ["id-other", "id-team", "id-spare"] }]));
  });

  it("switches a combo off", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos", host);
    await user.click(await screen.findByRole("switch", { name: "Switch team on" }));
    await waitFor(() => expect(screen.getByRole("switch", { name: "Switch team on" })).not.toBeChecked());
    expect(host.calls("combo_update")).toEqual([{ id: "id-team", isActive: false }]);
  });

  it("duplicates under a free name, and opens the copy", async () => {
    const { user, path } = open("/combos", fakeHost(gateway(team)));
    await user.click(await screen.findByRole("button", { name: "Actions for team" }));
    await user.click(await screen.findByRole("menuitem", { name: "Duplicate" }));
    await waitFor(() => expect(path()).toBe("/combos/id-team-copy"));
  });

  it("deletes at once, with a way back to the same place", async () => {
    const host = fakeHost(gateway(team, other));
    const { user, path } = open("/combos", host);
    await user.click(await screen.findByRole("button", { name: "Actions for team" }));
    await user.click(await screen.findByRole("menuitem", { name: "Delete" }));
    await user.click(await screen.findByRole("button", { name: "Undo" }));
    await waitFor(() => expect(host.calls("combos_reorder")).toHaveLength(1));
    // Choosing from a row's menu is no press on the row.
    expect(path()).toBe("/combos");
  });

  it("says who leads to a combo that cannot be deleted", async () => {
    const parent = combo("parent", { models: [newStep({ kind: "combo-ref", comboName: "team" })] });
    const host = fakeHost({
      ...gateway(team, parent),
      aliases_list: () => ({ aliases: [alias("best", "team"), alias("cheap", "openai/gpt")] }),
      combo_delete: () => refuse({ code: "conflict", message: "team is still used by the combo parent" }),
    });
    const { user, path } = open("/combos", host);
    await user.click(await screen.findByRole("button", { name: "Actions for team" }));
    await user.click(await screen.findByRole("menuitem", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog", { name: "team is still in use" });
    expect(dialog).toHaveTextContent(/parent\s*a step of this combo.*best\s*a model name/);
    expect(dialog).not.toHaveTextContent(/cheap|still used by/);
    await user.click(within(dialog).getByRole("link", { name: "parent" }));
    await waitFor(() => expect(path()).toBe("/combos/id-parent"));
  });

  it("says it in the gateway's words where it knows no better", async () => {
    const host = fakeHost({
      ...gateway(team),
      combo_delete: () => refuse({ code: "conflict", message: "“other” leads to it in step 3" }),
    });
    const { user } = open("/combos", host);
    await user.click(await screen.findByRole("button", { name: "Actions for team" }));
    await user.click(await screen.findByRole("menuitem", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog", { name: "team is still in use" });
    expect(dialog).toHaveTextContent("“other” leads to it in step 3");
  });

  it("says why it could not be read", async () => {
    const host = fakeHost({
      ...gateway(),
      combos_list: () => refuse({ code: "internal_error", message: "disk full" }),
    });
    open("/combos", host);
    expect(await screen.findByRole("alert")).toHaveTextContent("disk full");
  });

  it("is accessible", async () => {
    const { container } = open("/combos", fakeHost(gateway(team, other)));
    await screen.findByRole("grid");
    await expectAccessible(container);
  });
});

describe("combos as a document", () => {
  it("are shown to be copied or saved", async () => {
    open("/combos/export", fakeHost(gateway(team)));
    const panel = await screen.findByRole("complementary", { name: "Export combos" });
    expect(await within(panel).findByText(/"name": "team"/)).toBeVisible();
    expect(within(panel).getByRole("button", { name: "Save as a file" })).toBeVisible();
  });

  it("are imported, and then in the list", async () => {
    const host = fakeHost(gateway());
    const { user, path } = open("/combos/import", host);
    await user.click(await screen.findByLabelText("Or paste it here"));
    await user.paste('{"version":2,"combos":[]}');
    await user.click(screen.getByRole("switch", { name: "Replace combos of the same name" }));
    await user.click(importButton());
    await waitFor(() => expect(path()).toBe("/combos"));
    expect(host.calls("combos_import")).toEqual([{ document: { version: 2, combos: [] }, taken: "replace" }]);
    expect(await screen.findByRole("grid")).toHaveTextContent("imported");
  });

  it("that are no JSON are not sent", async () => {
    const host = fakeHost(gateway());
    const { user } = open("/combos/import", host);
    const text = await screen.findByLabelText("Or paste it here");
    await user.click(text);
    await user.paste("combos: team");
    await user.click(importButton());
    expect(text).toHaveAccessibleDescription(/This is not JSON/);
    expect(host.calls("combos_import")).toEqual([]);
  });

  it("that are refused say what is wrong with which combo", async () => {
    const details = [
      { field: "combos[0].name", message: "another combo has this name" },
      { field: "combos[1].models[2].weight", message: "expected a whole number from 0 to 100" },
    ];
    const host = fakeHost({
      ...gateway(),
      combos_import: () => refuse({ code: "invalid_request", details }),
    });
    const { user, container } = open("/combos/import", host);
    await user.click(await screen.findByLabelText("Or paste it here"));
    await user.paste('[{"name":"team"},{"name":"crew"}]');
    await user.click(importButton());
    const [first, second] = within(await screen.findByRole("alert")).getAllByRole("listitem");
    expect(first).toHaveTextContent(/Combo 1\s*team\s*Name\s*another combo has this name/);
    expect(second).toHaveTextContent(/Combo 2\s*crew\s*step 3, Weight\s*expected a whole number/);
    await expectAccessible(container);
  });
});
