import { screen, waitFor, within } from "@testing-library/react";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { ComboPreviewed, PreviewedFactor } from "@/bindings";
import { combo, comboWorld, modelStep, preview, target } from "@/test/combo-world";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { inSeconds } from "@/test/resilience-world";
import { world } from "@/test/world";

// A countdown read late by a slow machine would be another one: the clock stands, while timers go on.
vi.useFakeTimers({ toFake: ["Date"] });
afterAll(() => {
  vi.useRealTimers();
});

const team = combo("team", { models: [modelStep("s1", "anthropic/claude"), modelStep("s2", "openai/gpt")] });
const cooling = target(2, "gpt", {
  available: false,
  exclusion: {
    mechanism: "connection_cooldown",
    reason: "unavailable",
    until: inSeconds(90),
    retryAfterMs: 90_000,
    cause: null,
  },
});
const gateway = (said: ComboPreviewed) => ({ ...world(), ...comboWorld({ combos: [team], preview: said }) });
const at = "/combos/id-team";
/** The sentence that names who is first. */
const firstWords = async () => (await screen.findByText("claude", { selector: "p *" })).parentElement;

describe("what a request would do now", () => {
  it("names who is first, in which order, who is left out and until when", async () => {
    const said = preview({
      targets: [target(1, "claude"), target(3, "opus", { placed: "session" }), cooling],
      skipped: [
        { step: "s4", what: "groq/llama-*", reason: "wildcard_empty" },
        { step: "s5", what: "openai/o3", reason: "no_connection" },
      ],
    });
    const { container } = open(at, fakeHost(gateway(said)));
    expect(await firstWords()).toHaveTextContent("Account 1 would be asked first, for claude.");
    const ranked = within(screen.getByRole("list", { name: "In this order" })).getAllByRole("listitem");
    expect(ranked).toHaveLength(2);
    expect(ranked[1]).toHaveTextContent(/opus.*Account 3 · Anthropic · the conversation was there/);
    expect(screen.getByRole("list", { name: "Left out" })).toHaveTextContent(
      /gpt.*Connection cooldown\s*1:30.*It failed a moment ago and rests\./,
    );
    expect(screen.getByRole("list", { name: "Steps that lead nowhere now" })).toHaveTextContent(
      /groq\/llama-\*.*No model fits the pattern.*openai\/o3.*No account may serve it/,
    );
    await expectAccessible(container);
  });

  it("says what the agent would be answered when nobody is left", async () => {
    const answer = { status: 503, code: "all_targets_cooling_down", retryAfterSeconds: 90 };
    open(at, fakeHost(gateway(preview({ targets: [cooling], answer }))));
    expect(await screen.findByText(/^Nobody could be asked now; the first is back in 1:30\.$/)).toBeVisible();
    expect(screen.getByText(/^The agent would get 503, and be told to come back in 1:30\.$/)).toBeVisible();
  });

  it("breaks a score into its parts", async () => {
    const factors = [
      { factor: "quota", value: 0.5, weight: 0.2, share: 0.1, known: true },
      { factor: "quality", value: 0.5, weight: 0.03, share: 0.015, known: false },
      { factor: "health", value: 1, weight: 0.6, share: 0.6, known: true },
      { factor: "taskFit", value: 0.9, weight: 0, share: 0, known: true },
    ];
    const said = preview({ strategy: "auto", targets: [target(1, "claude", { score: 0.7, factors })] });
    const { user } = open(at, fakeHost(gateway(said)));
    expect(await screen.findByText("score 0.70")).toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: "Why claude, Account 1 stands here" }));
    const parts = within(screen.getByRole("list", { name: "Why claude, Account 1 stands here" }));
    expect(parts.getAllByRole("listitem").map(({ textContent }) => textContent)).toEqual([
      "Health0.60",
      "Quota left0.10",
      "Quality so farnot known0.02",
    ]);
    expect(screen.queryByText(/Fit for the task/)).toBeNull();
  });

  it("shows the figure that a strategy compares, with its unit", async () => {
    const figure = (factor: string, value: number): PreviewedFactor[] => [
      { factor, value, weight: null, share: null, known: true },
    ];
    const said = preview({
      strategy: "headroom",
      targets: [
        target(1, "claude", { factors: figure("free", 0.72) }),
        target(2, "opus", { factors: figure("resetInSeconds", 7_200) }),
        target(3, "haiku", { factors: figure("inputPrice", 3) }),
      ],
    });
    open(at, fakeHost(gateway(said)));
    expect(await screen.findByText("Quota left 72%")).toBeVisible();
    expect(screen.getByText("Quota renewed in 2 h")).toBeVisible();
    expect(screen.getByText(/^Input, per million tokens .*3\.00$/)).toBeVisible();
  });

  it("follows the draft and the kind of request, saved or not", async () => {
    const host = fakeHost(gateway(preview({ targets: [target(1, "claude")] })));
    const { user } = open(at, host);
    expect(await firstWords()).toHaveTextContent("Account 1 would be asked first, for claude.");
    expect(host.calls("combo_preview")[0]).toMatchObject({ combo: "id-team", request: { tools: 0, vision: false } });
    await user.click(screen.getByRole("switch", { name: "Images" }));
    const tools = screen.getByLabelText("Tools");
    await user.clear(tools);
    await user.type(tools, "12");
    await user.click(screen.getByRole("switch", { name: "Use openai/gpt" }));
    await waitFor(() =>
      expect(host.calls("combo_preview").at(-1)).toMatchObject({
        combo: { name: "team", models: [{ enabled: true }, { enabled: false }] },
        request: { tools: 12, vision: true },
      }),
    );
  });

  it("says what is missing of a combo that cannot be read yet, without alarm", async () => {
    const details = [{ field: "models[1].connectionId", message: "the pinned connection is not among the allowed" }];
    const host = fakeHost({
      ...gateway(preview()),
      combo_preview: () => refuse({ code: "invalid_request", details }),
    });
    open(at, host);
    expect(await screen.findByText("The gateway cannot read this combo yet:")).toBeVisible();
    expect(screen.getByText(/step 2, Accounts/)).toBeVisible();
    expect(screen.queryByRole("alert")).toBeNull();
  });
});
