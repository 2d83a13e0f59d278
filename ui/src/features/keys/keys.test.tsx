import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { KeyLimitUse } from "@/bindings";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, key, model, world } from "@/test/world";

const FAR = "2099-01-01T00:00:00.000Z";

const use = (part: Partial<KeyLimitUse>): KeyLimitUse => ({
  unit: "usd",
  scopeType: "global",
  scopeValue: null,
  interval: "daily",
  limit: 5,
  used: 0,
  unpricedRequests: 0,
  since: "2026-01-01T00:00:00.000Z",
  resetsAt: FAR,
  level: "within",
  ...part,
});

const tokens = use({
  unit: "tokens",
  scopeType: "provider",
  scopeValue: "openai",
  interval: "weekly",
  limit: 5000,
  used: 500,
});

describe("API keys", () => {
  it("say what they open, in both languages", async () => {
    const keys = [
      key("k1", { name: "Laptop" }),
      key("k2", { name: "Editor", allowedModels: ["anthropic/*"], allowedConnections: ["c1"], isActive: false }),
      key("k3", { name: "Trial", expiresAt: "2026-01-02T00:00:00.000Z" }),
    ];
    const { unmount } = open("/settings/keys", fakeHost(world({ keys })));
    const [, laptop, editor, trial] = within(await screen.findByRole("grid")).getAllByRole("row");
    expect(laptop).toHaveTextContent(/Laptop.*…k3Vw.*Active.*everything.*never/);
    expect(editor).toHaveTextContent(/Editor.*Switched off.*1 model pattern and 1 connection/);
    expect(trial).toHaveTextContent(/Trial.*Expired/);
    unmount();
    open("/settings/keys", fakeHost(world({ keys })), { preferences: { language: "it" } });
    expect(await screen.findByText("1 schema di modelli e 1 connessione")).toBeVisible();
  });

  it("are made with their limits and shown once", async () => {
    const host = fakeHost(
      world({
        connections: [connection("c1", { name: "Work" }), connection("c2", { name: "Home" })],
        models: [model("anthropic", "sonnet"), model("openai", "m1")],
      }),
    );
    const { user, path } = open("/settings/keys", host);
    await user.click(await screen.findByRole("button", { name: "New key" }));
    await user.type(await screen.findByLabelText("Name"), "Editor");
    await user.type(screen.getByLabelText("Models"), "anthropic/*");
    expect(await screen.findByText(/Fits 1 of the 2 models/)).toBeVisible();
    await user.click(
      within(screen.getByRole("group", { name: "Connections" })).getByRole("radio", { name: "Only these" }),
    );
    expect(screen.getByRole("button", { name: "Make key" })).toBeDisabled();
    await user.click(screen.getByRole("checkbox", { name: /Work/ }));
    await user.click(screen.getByRole("button", { name: "Make key" }));

    const dialog = await screen.findByRole("dialog", { name: "The key Editor" });
    expect(within(dialog).getByText("sk-omni-a-key-shown-once-Qm4c")).toBeVisible();
    expect(host.calls("key_create")).toMatchObject([
      {
        name: "Editor",
        expiresAt: null,
        allowedModels: ["anthropic/*"],
        allowedCombos: [],
        allowedConnections: ["c1"],
        scopes: [],
      },
    ]);
    await user.keyboard("{Escape}");
    expect(dialog).toBeVisible();
    await user.click(within(dialog).getByRole("button", { name: "I have it" }));
    await waitFor(() => expect(path()).toBe("/settings/keys"));
    expect(screen.queryByText("sk-omni-a-key-shown-once-Qm4c")).not.toBeInTheDocument();
  });

  it("cannot lease without connections of their own", async () => {
    const { user } = open("/settings/keys/add", fakeHost(world()));
    await user.type(await screen.findByLabelText("Name"), "Robot");
    await user.click(screen.getByRole("checkbox", { name: /Lease a connection/ }));
    expect(screen.getByText(/it needs a list of its own/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Make key" })).toBeDisabled();
  });

  it("of a taken name are refused beside the name", async () => {
    const host = fakeHost({ ...world(), key_create: () => refuse({ code: "conflict" }) });
    const { user } = open("/settings/keys/add", host, { preferences: { language: "it" } });
    await user.type(await screen.findByLabelText("Nome"), "Doppia");
    await user.click(screen.getByRole("button", { name: "Crea chiave" }));
    await waitFor(() =>
      expect(screen.getByLabelText("Nome")).toHaveAccessibleDescription("C'è già una chiave con questo nome."),
    );
  });

  it("are switched off at once, and edited in place", async () => {
    const host = fakeHost(world({ keys: [key("k1", { name: "Laptop" })] }));
    const { user, path } = open("/settings/keys", host);
    await user.click(await screen.findByRole("switch", { name: "Let Laptop in" }));
    expect(await screen.findByText("Switched off")).toBeVisible();
    await user.click(screen.getByText("Laptop"));
    const name = await screen.findByLabelText("Name");
    await user.clear(name);
    await user.type(name, "Desktop");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(path()).toBe("/settings/keys"));
    expect(await screen.findByText("Desktop")).toBeVisible();
  });

  it("get a new text after a warning", async () => {
    const { user } = open("/settings/keys/k1", fakeHost(world({ keys: [key("k1", { name: "Laptop" })] })));
    await user.click(await screen.findByRole("button", { name: "Rotate" }));
    const warning = await screen.findByRole("dialog", { name: "Rotate the key Laptop?" });
    await user.click(within(warning).getByRole("button", { name: "Rotate" }));
    expect(await screen.findByText("sk-omni-a-new-text-Zz9x")).toBeVisible();
  });

  it("are deleted only after asking", async () => {
    const host = fakeHost(world({ keys: [key("k1", { name: "Laptop" })] }));
    const { user } = open("/settings/keys/k1", host);
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    const dialog = await screen.findByRole("dialog", { name: "Delete the key Laptop?" });
    expect(host.calls("key_delete")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Delete" }));
    expect(await screen.findByRole("heading", { name: "No key yet" })).toBeVisible();
  });

  it("are given budgets, token limits and an order of connections", async () => {
    const connections = [connection("c1", { name: "Work" }), connection("c2", { name: "Home" })];
    const host = fakeHost(world({ keys: [key("k1", { name: "Laptop" })], connections }));
    const { user } = open("/settings/keys/k1", host);
    const save = await screen.findByRole("button", { name: "Save" });
    await user.type(screen.getByLabelText("Daily budget"), "-1");
    expect(screen.getByText(/An amount above 0/)).toBeVisible();
    expect(save).toBeDisabled();
    await user.clear(screen.getByLabelText("Daily budget"));
    await user.type(screen.getByLabelText("Daily budget"), "2.50");
    await user.click(screen.getByRole("button", { name: "Add a limit" }));
    const limit = within(screen.getByRole("group", { name: "Token limit 1" }));
    await user.selectOptions(limit.getByLabelText("Counts"), "One provider");
    await user.type(limit.getByLabelText("Provider"), "openai");
    await user.type(limit.getByLabelText("Tokens"), "5000");
    await user.selectOptions(limit.getByLabelText("Period"), "a week");
    for (const name of ["Work", "Home"]) {
      await user.selectOptions(
        screen.getByLabelText("Asked first"),
        screen.getByRole("option", { name: new RegExp(name) }),
      );
    }
    await user.click(screen.getByRole("button", { name: "Ask Home earlier" }));
    await user.click(save);
    await waitFor(() =>
      expect(host.calls("key_update")).toMatchObject([
        {
          budgetDailyUsd: 2.5,
          tokenLimits: [{ scopeType: "provider", scopeValue: "openai", tokenLimit: 5000, resetInterval: "weekly" }],
          preferredConnections: ["c2", "c1"],
        },
      ]),
    );
    expect(host.calls("key_update")[0]).not.toHaveProperty("excludedAutoCandidates");
  });

  it("show what is used of their limits, and until when they are refused", async () => {
    const soon = new Date(Date.now() + 20 * 60_000).toISOString();
    const keys = [
      key("k1", {
        name: "Spent",
        limitUse: [use({ used: 5.25, level: "exceeded", resetsAt: soon, unpricedRequests: 3 })],
      }),
      key("k2", { name: "Near", limitUse: [use({ used: 4.5, level: "warning" }), tokens] }),
      key("k3", {
        name: "Over",
        limitUse: [use({ used: 9, level: "exceeded", resetsAt: "2026-01-02T00:00:00.000Z" })],
      }),
    ];
    const { user, container } = open("/settings/keys", fakeHost(world({ keys })));
    const [, spent, near, over] = within(await screen.findByRole("grid")).getAllByRole("row");
    expect(spent).toHaveTextContent(/Spent.*Used up.*105%/);
    expect(near).toHaveTextContent(/Near.*Near a limit.*90%/);
    expect(over).toHaveTextContent(/Over.*Active.*0%/);
    await user.click(screen.getByText("Spent"));
    const used = within(await screen.findByRole("region", { name: "Used so far" }));
    expect(used.getByRole("meter", { name: "Daily budget" })).toHaveAttribute("aria-valuetext", "$5.25 of $5.00");
    expect(used.getByText("Used up: refused until the reset")).toBeVisible();
    expect(used.getByText(/resets in (19|20):/)).toBeVisible();
    expect(used.getByText(/3 requests of unknown price/)).toBeVisible();
    await expectAccessible(container);
  });

  it("say in Italian what is used of them", async () => {
    const keys = [key("k2", { name: "Vicina", limitUse: [use({ used: 4.5, level: "warning" }), tokens] })];
    open("/settings/keys/k2", fakeHost(world({ keys })), { preferences: { language: "it" } });
    const used = within(await screen.findByRole("region", { name: "Usato finora" }));
    expect(used.getByRole("meter", { name: "Token alla settimana, openai" })).toHaveAttribute("aria-valuenow", "10");
    expect(used.getByText("Vicino al limite")).toBeVisible();
  });

  it("of a list that cannot be read are asked for again", async () => {
    let broken = true;
    const keys = [key("k1", { name: "Laptop" })];
    const keys_list = () => (broken ? refuse({ code: "internal_error", message: "disk full" }) : { keys });
    const { user } = open("/settings/keys", fakeHost({ ...world({ keys }), keys_list }));
    const again = await screen.findByRole("button", { name: /again/i });
    broken = false;
    await user.click(again);
    expect(await screen.findByText("Laptop")).toBeVisible();
  });

  it("with long names and many limits stay readable", async () => {
    const name = "a-very-long-name-".repeat(7);
    const limitUse = Array.from({ length: 12 }, (_, n) => ({ ...tokens, scopeValue: `provider-${n}/${name}` }));
    open("/settings/keys/k1", fakeHost(world({ keys: [key("k1", { name, limitUse })] })));
    const used = within(await screen.findByRole("region", { name: "Used so far" }));
    expect(used.getAllByRole("meter")).toHaveLength(12);
    expect(used.getByTitle(`Tokens a week, provider-11/${name}`)).toBeVisible();
  });

  it("are accessible", async () => {
    const keys = [key("k1", { name: "Laptop", allowedConnections: ["c1"] })];
    const { container } = open("/settings/keys/k1", fakeHost(world({ keys, connections: [connection("c1")] })));
    await screen.findByRole("checkbox", { name: /c1/ });
    await expectAccessible(container);
  });
});
