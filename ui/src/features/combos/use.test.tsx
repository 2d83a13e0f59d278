import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { ComboTestResult } from "@/bindings";
import { combo, comboWorld, metric, modelStep } from "@/test/combo-world";
import { type Answers, fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { connection, world } from "@/test/world";

const steps = [modelStep("s1", "anthropic/claude"), modelStep("s2", "openai/gpt"), modelStep("s3", "groq/llama")];
const team = combo("team", { models: steps });
const asked = metric("id-team", {
  requests: 51,
  successes: 49,
  failures: 1,
  p50Ms: 1_100,
  p95Ms: 4_200,
  lastUsedAt: new Date(Date.now() - 120_000).toISOString(),
  targets: [
    {
      executionKey: "s1@c1",
      provider: "anthropic",
      model: "claude",
      requests: 40,
      successes: 40,
      failures: 0,
      p50Ms: 900,
      p95Ms: 2_000,
      lastUsedAt: null,
    },
  ],
});

const gateway = (more: Answers = {}) => ({
  ...world({ connections: [connection("c1", { name: "Work" })] }),
  ...comboWorld({ combos: [team, combo("quiet")], metrics: [asked, metric("id-quiet")] }),
  ...more,
});

function result(part: Partial<ComboTestResult>): ComboTestResult {
  return {
    executionKey: "s1",
    provider: "anthropic",
    model: "claude",
    connectionId: "c1",
    ok: true,
    status: 200,
    latencyMs: 840,
    error: null,
    ...part,
  };
}

describe("how a combo did", () => {
  it("is in the list: what part was answered, how long that takes, and when it was last used", async () => {
    open("/combos", fakeHost(gateway()));
    const row = (await screen.findByText("team")).closest("[role=row]") as HTMLElement;
    await waitFor(() => expect(row).toHaveTextContent(/98%1\.1 s2 min\.? ago/));
    expect(within(row).getByTitle("In the last 24 hours: 49 of 50 requests answered")).toBeVisible();
  });

  it("is never a figure where nobody has asked", async () => {
    open("/combos", fakeHost(gateway()));
    const row = (await screen.findByText("quiet")).closest("[role=row]") as HTMLElement;
    await waitFor(() => expect(row).toHaveTextContent("–––"));
    expect(row).not.toHaveTextContent("%");
  });

  it("is in the editor, target by target", async () => {
    open("/combos/id-team", fakeHost(gateway()));
    const targets = await screen.findByRole("list", { name: "By target" });
    expect(targets).toHaveTextContent(/claude.*40 requests100%900 ms/);
    expect(screen.getByText("Requests", { selector: "dt" }).nextSibling).toHaveTextContent("51");
  });
});

describe("the test of a combo", () => {
  it("asks every target, and says of each whether it answered or what helps", async () => {
    const host = fakeHost(
      gateway({
        combo_test: () => ({
          results: [
            result({}),
            result({
              executionKey: "s2",
              provider: "openai",
              model: "gpt",
              ok: false,
              status: 401,
              error: { code: "unauthorized", message: "no such key" },
            }),
            result({
              executionKey: "s3",
              provider: "groq",
              model: "llama",
              connectionId: null,
              ok: false,
              status: null,
              error: { code: "no_connection", message: "" },
            }),
          ],
        }),
      }),
    );
    const { user, container } = open("/combos/id-team/test", host);
    const run = await screen.findByRole("button", { name: "Test every target" });
    await waitFor(() => expect(run).toHaveFocus());
    await user.click(run);
    expect(await screen.findByText("1 of 3 targets answered")).toBeVisible();
    const [first, second, third] = within(screen.getByRole("list", { name: "Targets" })).getAllByRole("listitem");
    expect(first).toHaveTextContent(/claudeanswered in 840 msWork/);
    expect(second).toHaveTextContent(/gpt.*The key was not accepted.*HTTP 401 · no such key/);
    expect(third).toHaveTextContent(/llama.*No account may serve it/);
    expect(host.calls("combo_test")).toEqual([{ id: "id-team" }]);
    await expectAccessible(container);
  });

  it("sends what one wants to have said", async () => {
    const host = fakeHost(gateway({ combo_test: () => ({ results: [result({})] }) }));
    const { user } = open("/combos/id-team/test", host);
    await user.type(await screen.findByLabelText(/^Message/), "Count to three");
    await user.click(screen.getByRole("button", { name: "Test every target" }));
    await screen.findByRole("button", { name: "Test again" });
    expect(host.calls("combo_test")).toEqual([{ id: "id-team", prompt: "Count to three" }]);
  });

  it("says why it could not be made, and goes back to the combo", async () => {
    const host = fakeHost(gateway({ combo_test: () => refuse({ code: "internal_error", message: "disk full" }) }));
    const { user, path } = open("/combos/id-team/test", host);
    await user.click(await screen.findByRole("button", { name: "Test every target" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("disk full");
    await user.keyboard("{Escape}");
    await waitFor(() => expect(path()).toBe("/combos/id-team"));
  });

  it("is reached from the list, and from a combo with changes without losing them", async () => {
    const { user, path } = open("/combos/id-team", fakeHost(gateway()));
    const name = await screen.findByLabelText("Name");
    await user.type(name, "s");
    await user.click(screen.getByRole("button", { name: "Actions for team" }));
    await user.click(await screen.findByRole("menuitem", { name: "Test" }));
    await waitFor(() => expect(path()).toBe("/combos/id-team/test"));
    expect(name).toHaveValue("teams");
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("tiers", () => {
  it("are added one after the other, each the fallback of the one before, and saved with the combo", async () => {
    const host = fakeHost(gateway());
    const { user, container } = open("/combos/id-team", host);
    const add = await screen.findByRole("button", { name: "Add tier" });
    await user.click(add);
    await user.click(add);
    await user.selectOptions(screen.getByLabelText("Step of tier tier-1"), "3 groq/llama");
    const name = screen.getByLabelText("Name of tier tier-1");
    await user.clear(name);
    await user.type(name, "fast{Enter}");
    expect(await screen.findByLabelText("Starts at")).toHaveValue("fast");
    await expectAccessible(container);
    await user.click(screen.getByRole("button", { name: "Save changes" }));
    await waitFor(() => expect(host.calls("combo_update")).toHaveLength(1));
    expect(host.calls("combo_update")[0]?.compositeTiers).toEqual({
      defaultTier: "fast",
      tiers: {
        fast: { stepId: "s3", fallbackTier: "tier-2" },
        "tier-2": { stepId: "s2", fallbackTier: null },
      },
    });
  });

  it("go when their step goes, and what the gateway says stands beside the tier", async () => {
    const tiered = combo("tiered", {
      models: steps,
      compositeTiers: { defaultTier: "a", tiers: { a: { stepId: "s1", fallbackTier: "b" }, b: { stepId: "s2" } } },
    });
    const details = [{ field: "compositeTiers.tiers.b.stepId", message: "no step has this id" }];
    const host = fakeHost({
      ...gateway(),
      ...comboWorld({ combos: [tiered] }),
      combo_update: () => refuse({ code: "invalid_request", details }),
    });
    const { user } = open("/combos/id-tiered", host);
    await user.click(await screen.findByRole("button", { name: "Remove anthropic/claude" }));
    const list = screen.getByRole("list", { name: "Tiers" });
    expect(within(list).getAllByRole("listitem")).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Save changes" }));
    expect(await within(list).findByText("no step has this id")).toBeVisible();
    expect(host.calls("combo_update")[0]?.compositeTiers).toEqual({
      defaultTier: "b",
      tiers: { b: { stepId: "s2", fallbackTier: null } },
    });
  });

  it("are only offered where the order is theirs to change", async () => {
    const drawn = combo("drawn", { strategy: "weighted", models: steps });
    open("/combos/id-drawn", fakeHost({ ...gateway(), ...comboWorld({ combos: [drawn] }) }));
    await screen.findByRole("list", { name: "Steps" });
    expect(screen.queryByRole("button", { name: "Add tier" })).toBeNull();
  });
});
