import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { RoutingSimulated, SelectedTarget } from "@/bindings";
import { combo, comboWorld, replay } from "@/test/combo-world";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { resilienceWorld } from "@/test/resilience-world";
import { connection, model, world } from "@/test/world";

const at = "/monitoring/simulate";
const records = { models: [model("openai", "gpt")], connections: [connection("c1", { name: "Work" })] };
const gateway = (outcome: RoutingSimulated) => ({
  ...world(records),
  ...resilienceWorld(),
  ...comboWorld({ combos: [combo("team", { strategy: "weighted" })], outcome }),
});
const chosen = (model: string, connectionId: string | null, first: number): SelectedTarget => ({
  executionKey: model,
  provider: "anthropic",
  model,
  connectionId,
  first,
});
const run = () => screen.getByRole("button", { name: "Simulate" });

describe("Simulate, who is first", () => {
  const outcome = {
    runs: 200,
    seed: 99,
    histogram: [chosen("haiku", null, 40), chosen("claude", "c1", 150)],
    exhausted: 10,
  };

  it("counts first choices, the most frequent first, and those for whom nobody was left", async () => {
    const host = fakeHost(gateway(outcome));
    const { user, router, container } = open(at, host);
    await user.click(await screen.findByLabelText("Name"));
    await user.click(await screen.findByText("team"));
    await waitFor(() => expect(router.state.location.search).toEqual({ name: "team" }));
    const runs = screen.getByLabelText("Requests");
    await user.clear(runs);
    await user.type(runs, "200");
    await user.click(run());
    const rows = within(await screen.findByRole("list", { name: "First choice of 200 requests" })).getAllByRole(
      "listitem",
    );
    expect(rows.map((row) => row.textContent)).toEqual([
      "claudeWork · Anthropic75%150 times",
      "haikuany account · Anthropic20%40 times",
      "Nobody could be asked5%10 times",
    ]);
    expect(host.calls("routing_simulate")).toEqual([{ mode: "selections", model: "team", runs: 200 }]);
    await user.click(screen.getByRole("button", { name: "Use this seed again" }));
    await user.click(run());
    await waitFor(() => expect(host.calls("routing_simulate").at(-1)).toMatchObject({ seed: 99 }));
    await expectAccessible(container);
  });

  it("takes 1 to 10,000 requests", async () => {
    const { user } = open(`${at}?name=team`, fakeHost(gateway(outcome)));
    const runs = await screen.findByLabelText("Requests");
    await user.clear(runs);
    await user.type(runs, "10001");
    expect(runs).toHaveAccessibleDescription("Must be between 1 and 10,000.");
    expect(run()).toBeDisabled();
  });

  it.each(["4294967296", "-1", "1.5"])("does not take %s for a seed", async (wrong) => {
    const { user } = open(`${at}?name=team`, fakeHost(gateway(outcome)));
    const seed = await screen.findByLabelText(/^Seed/);
    await user.type(seed, "4294967295");
    expect(run()).toBeEnabled();
    await user.clear(seed);
    await user.type(seed, wrong);
    expect(seed).toHaveAccessibleDescription(/Must be a whole number from 0 to 4,294,967,295\./);
    expect(run()).toBeDisabled();
  });
});

describe("Simulate, replay the past", () => {
  it("compares what was recorded with what would have been under another strategy", async () => {
    const before = { failuresSeenByClient: 10, waits: 2, waitMs: 90_000, cost: 4 };
    const host = fakeHost(gateway(replay(before, { ...before, failuresSeenByClient: 4, waits: 3 })));
    const { user, container } = open(`${at}?mode=replay&name=team`, host);
    await screen.findByText("Change something first: as it is, the two columns would be equal.");
    expect(run()).toBeDisabled();
    await user.selectOptions(screen.getByLabelText("Stretch of time"), "Last 6 hours");
    await user.click(screen.getByLabelText("Strategy"));
    await user.click(await screen.findByText("Fill first"));
    await user.click(run());
    const table = await screen.findByRole("table");
    const row = (name: RegExp) => within(table).getByRole("row", { name });
    expect(row(/^Failures the agents saw/)).toHaveTextContent(/10\s*4\s*−6 \(−60%\)\s*better/);
    expect(row(/^Waits/)).toHaveTextContent(/2\s*3\s*\+1 \(\+50%\)\s*worse/);
    expect(row(/^Time spent waiting/)).toHaveTextContent(/1 min 30 s.*no difference/);
    expect(host.calls("routing_simulate")).toEqual([
      { mode: "replay", hours: 6, combo: "id-team", change: { combo: { strategy: "fill-first" } } },
    ]);
    expect(screen.getByText("Seed 7")).toBeVisible();
    await expectAccessible(container);
  });

  it("tries settings of the gateway without saving them", async () => {
    const host = fakeHost(gateway(replay({}, { waits: 1 })));
    const { user } = open(`${at}?mode=replay`, host);
    expect(await screen.findByLabelText("Strategy")).toBeDisabled();
    const add = screen.getByLabelText("A setting to change");
    await user.selectOptions(add, await within(add).findByRole("option", { name: "Longest wait" }));
    const setting = await screen.findByRole("textbox", { name: "Longest wait" });
    await user.clear(setting);
    await user.type(setting, "5{Enter}");
    await waitFor(() =>
      expect(host.calls("routing_simulate")).toMatchObject([
        { change: { settings: { resilienceSettings: { waitForCooldown: { maxRetryWaitSec: 5 } } } } },
      ]),
    );
    expect(host.calls("settings_update")).toEqual([]);
  });

  it("says that nothing was recorded", async () => {
    const { user } = open(`${at}?mode=replay&name=team`, fakeHost(gateway(replay({}, {}, 0))));
    await user.click(await screen.findByLabelText("Strategy"));
    await user.click(await screen.findByText("Fill first"));
    await user.click(run());
    expect(await screen.findByRole("heading", { name: "Nothing was recorded in this time" })).toBeVisible();
  });
});
