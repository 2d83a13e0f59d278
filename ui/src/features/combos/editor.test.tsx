import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { combo, comboWorld, modelStep } from "@/test/combo-world";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, model, world } from "@/test/world";

const steps = [
  modelStep("s1", "anthropic/claude", { weight: 3 }),
  modelStep("s2", "openai/gpt", { weight: 1, connectionId: "c1" }),
];
const team = combo("team", { models: steps });
const gateway = (...combos: (typeof team)[]) => ({
  ...world({
    models: [model("anthropic", "claude"), model("openai", "gpt")],
    connections: [
      connection("c1", { provider: "openai", name: "Work" }),
      connection("c2", { provider: "openai", name: "Own" }),
    ],
  }),
  ...comboWorld({ combos }),
});
const rows = async () => within(await screen.findByRole("list", { name: "Steps" })).getAllByRole("listitem");
const saveButton = () => screen.getByRole("button", { name: "Save changes" });

describe("a new combo", () => {
  it("gets a name and steps by model, by combo and by pattern, and has an address of its own once made", async () => {
    const host = fakeHost(gateway(combo("spare")));
    const { user, path } = open("/combos/new", host);
    await user.type(await screen.findByLabelText("Name"), "crew");
    const add = async (text: string, option: string) => {
      await user.click(screen.getByRole("button", { name: "Add step" }));
      await user.type(await screen.findByPlaceholderText(/Model, combo/), text);
      await user.click(await screen.findByText(option));
    };
    await add("claude", "anthropic/claude");
    await add("spa", "spare");
    await add("groq/llama-*", "Every model like groq/llama-*");
    await add("openai/brand-new", "Use openai/brand-new");
    await user.click(screen.getByRole("button", { name: "Make combo" }));
    await waitFor(() => expect(path()).toBe("/combos/id-crew"));
    expect(host.calls("combo_create")).toMatchObject([
      {
        name: "crew",
        strategy: "priority",
        models: [
          { kind: "model", model: "anthropic/claude", providerId: "anthropic" },
          { kind: "combo-ref", comboName: "spare" },
          { kind: "provider-wildcard", providerId: "groq", modelPattern: "llama-*" },
          { kind: "model", model: "openai/brand-new", providerId: "openai" },
        ],
      },
    ]);
  });

  it("cannot be made without a name", async () => {
    open("/combos/new", fakeHost(gateway()));
    expect(await screen.findByRole("button", { name: "Make combo" })).toBeDisabled();
    expect(screen.getByText("As soon as there is a step, you see here who would be asked.")).toBeVisible();
  });
});

describe("the editor", () => {
  it("says each strategy in one sentence, and shows only the settings of the chosen one", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos/id-team", host);
    const strategy = await screen.findByLabelText("Strategy");
    expect(strategy).toHaveAccessibleDescription("The first step that is available; the next ones only when it fails.");
    expect(screen.queryByLabelText("Requests per draw")).toBeNull();
    await user.click(strategy);
    expect(await screen.findAllByRole("option")).toHaveLength(19);
    await user.click(screen.getByText("Draws a step by chance, as often as its weight says."));
    expect(await screen.findByLabelText("Requests per draw")).toHaveValue("1");
    expect(screen.queryByLabelText("Judge")).toBeNull();
    await user.click(saveButton());
    await waitFor(() =>
      expect(host.calls("combo_update")).toEqual([{ id: "id-team", strategy: "weighted", updatedAt: team.updatedAt }]),
    );
  });

  it("shows what weights come to, and takes whole numbers from 0 to 100 only", async () => {
    const { user } = open("/combos/id-team", fakeHost(gateway({ ...team, strategy: "weighted" })));
    const [first] = await rows();
    expect(first).toHaveTextContent("75%");
    const weight = screen.getByLabelText("Weight of openai/gpt");
    await user.clear(weight);
    await user.type(weight, "7");
    await waitFor(() => expect(first).toHaveTextContent("30%"));
    await user.clear(weight);
    await user.type(weight, "101");
    expect(weight).toBeInvalid();
  });

  it("moves steps by keyboard and says so", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos/id-team", host);
    (await screen.findByRole("button", { name: "Move openai/gpt, step 2 of 2" })).focus();
    await user.keyboard("{ArrowUp}");
    expect(await screen.findByText("openai/gpt is now step 1 of 2")).toBeInTheDocument();
    expect((await rows())[0]).toHaveTextContent("openai/gpt");
  });

  it("pins a step to a connection, or allows it some", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos/id-team", host);
    const [, second] = await rows();
    await waitFor(() => expect(second).toHaveTextContent("only Work"));
    await user.click(screen.getByRole("button", { name: "Details of openai/gpt" }));
    await user.selectOptions(await screen.findByRole("combobox", { name: "Always this one" }), "Own");
    await user.click(screen.getByRole("radio", { name: "Only these" }));
    expect(screen.getByLabelText("Own")).toBeChecked();
    await user.click(screen.getByLabelText("Work"));
    await user.type(screen.getByLabelText(/^Tags/), "fast, cheap");
    await user.click(screen.getByRole("switch", { name: "Move on only when its quota is used up" }));
    await user.click(saveButton());
    await waitFor(() => expect(host.calls("combo_update")).toHaveLength(1));
    expect(host.calls("combo_update")[0]?.models?.[1]).toMatchObject({
      connectionId: null,
      allowedConnectionIds: ["c2", "c1"],
      tags: ["fast", "cheap"],
      fallbackOnlyOnQuotaExhaustion: true,
    });
  });

  it("shows where a setting comes from, its bounds, and the way back", async () => {
    const host = fakeHost(gateway({ ...team, strategy: "fusion", config: { fusion: { minPanel: 3 } } }));
    const { user } = open("/combos/id-team", host);
    const panel = await screen.findByLabelText("Answers to wait for");
    expect(panel).toHaveValue("3");
    expect(panel).toHaveAccessibleDescription(/1 to 32 · Default: 2/);
    await user.click(screen.getByRole("button", { name: "Reset Answers to wait for" }));
    expect(panel).toHaveValue("2");
    await user.click(saveButton());
    await waitFor(() => expect(host.calls("combo_update")).toMatchObject([{ config: { fusion: null } }]));
  });

  it("puts what the gateway refuses beside its field", async () => {
    const details = [
      { field: "name", message: "another combo has this name" },
      { field: "models[1].model", message: "expected “provider/model”" },
      { field: "config.maxRetries", message: "must be between 0 and 10" },
      { field: "compositeTiers.defaultTier", message: "no tier has this name" },
    ];
    const host = fakeHost({ ...gateway(team), combo_update: () => refuse({ code: "invalid_request", details }) });
    const { user } = open("/combos/id-team", host);
    const name = await screen.findByLabelText("Name");
    await user.type(name, "s");
    await user.click(saveButton());
    await waitFor(() => expect(name).toHaveAccessibleDescription("another combo has this name"));
    expect((await rows())[1]).toHaveTextContent("expected “provider/model”");
    // What is folded away unfolds where something in it was refused.
    expect(screen.getByLabelText("Tries again")).toHaveAccessibleDescription(/must be between 0 and 10/);
    expect(screen.getByRole("alert")).toHaveTextContent("compositeTiers.defaultTier: no tier has this name");
    await user.type(name, "x");
    await waitFor(() => expect(name).toHaveAccessibleDescription("What agents ask for as the model."));
  });

  it("puts a name that is taken beside the name", async () => {
    const message = "name: another combo has this name: choose a different one";
    const host = fakeHost({ ...gateway(team), combo_update: () => refuse({ code: "conflict", message }) });
    const { user } = open("/combos/id-team", host);
    const name = await screen.findByLabelText("Name");
    await user.type(name, "s");
    await user.click(saveButton());
    await waitFor(() => expect(name).toHaveAccessibleDescription("This name is taken."));
  });

  it("says calmly what is worth knowing", async () => {
    const warnings = [
      { code: "COMBO_NAME_SHADOWS_MODEL" as const, modelId: "team", providerId: "openrouter" },
      { code: "MODEL_UNKNOWN" as const, modelId: "gpt", providerId: "openai" },
    ];
    const host = fakeHost({ ...gateway(team), combo_get: () => ({ combo: team, warnings }) });
    open("/combos/id-team", host);
    expect((await screen.findByText("openrouter/team")).parentElement).toHaveTextContent(
      /^There is also a model called openrouter\/team/,
    );
    expect(screen.getByText("openai/gpt", { selector: "p *" }).parentElement).toHaveTextContent(
      /^The catalogue does not know openai\/gpt/,
    );
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("asks before changes are left behind", async () => {
    const { user, path } = open("/combos/id-team", fakeHost(gateway(team)));
    await user.type(await screen.findByLabelText("Name"), "s");
    await user.click(screen.getByRole("link", { name: "Home" }));
    await user.click(await screen.findByRole("button", { name: "Stay here" }));
    expect(path()).toBe("/combos/id-team");
    expect(screen.getByLabelText("Name")).toHaveValue("teams");
    await user.click(screen.getByRole("link", { name: "Home" }));
    await user.click(await screen.findByRole("button", { name: "Leave without saving" }));
    await waitFor(() => expect(path()).toBe("/home"));
  });

  it("lets one go without asking when nothing was changed, or it was taken back", async () => {
    const { user, path } = open("/combos/id-team", fakeHost(gateway(team)));
    await user.type(await screen.findByLabelText("Name"), "s");
    await user.click(screen.getByRole("button", { name: "Discard" }));
    expect(screen.getByLabelText("Name")).toHaveValue("team");
    await user.click(screen.getByRole("link", { name: "Home" }));
    await waitFor(() => expect(path()).toBe("/home"));
  });

  it("saves with Ctrl-S", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos/id-team", host);
    await user.type(await screen.findByLabelText("Name"), "s");
    await user.keyboard("{Control>}s{/Control}");
    await waitFor(() => expect(host.calls("combo_update")).toMatchObject([{ name: "teams" }]));
    await waitFor(() => expect(saveButton()).toBeDisabled());
  });

  it("says when somebody else saved meanwhile, and lets one choose", async () => {
    let current = team;
    const host = fakeHost({ ...gateway(team), combo_get: () => ({ combo: current, warnings: [] }) });
    const { user } = open("/combos/id-team", host);
    const name = await screen.findByLabelText("Name");
    await user.type(name, "s");
    current = { ...team, isHidden: true, updatedAt: "2026-02-01T00:00:00.000Z" };
    host.announce("combos");
    await user.click(await screen.findByRole("button", { name: "Take that version" }));
    expect(name).toHaveValue("team");
    expect(screen.getByRole("switch", { name: "Show to agents" })).not.toBeChecked();
  });

  it("weighs the factors of auto: ready-made, or one's own", async () => {
    const host = fakeHost(gateway({ ...team, strategy: "auto" }));
    const { user } = open("/combos/id-team", host);
    const balance = await screen.findByLabelText("Balance");
    await user.selectOptions(balance, "Quality first");
    expect(screen.getByRole("list", { name: "What counts" })).toHaveTextContent(/Fit for the task\s*35%/);
    await user.selectOptions(balance, "My own weights");
    expect(screen.getByRole("slider", { name: "Weight of Fit for the task" })).toHaveAttribute("aria-valuetext", "35%");
    await user.click(saveButton());
    await waitFor(() => expect(host.calls("combo_update")).toHaveLength(1));
    expect(host.calls("combo_update")[0]?.config).toMatchObject({
      autoConfig: { modePack: "quality-first", weights: { taskFit: 0.3524 } },
    });
  });

  it("leads further names of models to the combo, each saved by itself", async () => {
    const host = fakeHost(gateway(team));
    const { user } = open("/combos/id-team", host);
    await user.type(await screen.findByLabelText("Pattern"), "claude-*{Enter}");
    const list = await screen.findByRole("list", { name: "Also answers to" });
    expect(list).toHaveTextContent("claude-*");
    expect(host.calls("combo_mapping_create")).toEqual([{ comboId: "id-team", pattern: "claude-*" }]);
    const rank = screen.getByLabelText("Rank of claude-*");
    await user.clear(rank);
    await user.type(rank, "5{Enter}");
    await user.click(screen.getByRole("switch", { name: "Use the pattern claude-*" }));
    expect(host.calls("combo_mapping_update")).toEqual([
      { id: "m1", priority: 5 },
      { id: "m1", enabled: false },
    ]);
    await user.click(screen.getByRole("button", { name: "Remove claude-*" }));
    expect(await screen.findByText("Only its own name leads to this combo.")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Undo" }));
    expect(await screen.findByRole("switch", { name: "Use the pattern claude-*" })).not.toBeChecked();
    expect(saveButton()).toBeDisabled();
  });

  it("says that a combo is gone", async () => {
    const { user, path } = open("/combos/id-nothing", fakeHost(gateway()));
    expect(await screen.findAllByText("This combo no longer exists")).toHaveLength(1);
    expect(screen.getByRole("heading", { level: 1, name: "Combo" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "All combos" }));
    await waitFor(() => expect(path()).toBe("/combos"));
  });

  it("is accessible, unfolded and in Italian", async () => {
    const { user, container } = open("/combos/id-team", fakeHost(gateway({ ...team, strategy: "weighted" })), {
      preferences: { language: "it" },
    });
    await user.click(await screen.findByRole("button", { name: "Dettagli di openai/gpt" }));
    await user.click(screen.getByRole("button", { name: "Tentativi, limiti e velocità" }));
    await expectAccessible(container);
  });
});
