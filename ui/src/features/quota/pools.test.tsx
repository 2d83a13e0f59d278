import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { QuotaPool, QuotaPoolState } from "@/bindings";
import { type Answers, fakeHost, refuse } from "@/test/fake-host";
import { pool, poolKey, poolState, pools } from "@/test/pool-world";
import { expectAccessible, open } from "@/test/render";
import { inSeconds } from "@/test/resilience-world";
import { connection, key, world } from "@/test/world";

const at = "/monitoring/quota/pools";
const team = pool("team", { name: "Team" });

const state = poolState(team, {
  dimensions: [{ unit: "requests", window: "hourly", limit: 40, used: 31, measured: null, strict: true }],
  keys: [
    poolKey("k1", { name: "Laptop", standing: "refused", until: inSeconds(600), uses: [{ used: 30, share: 30 }] }),
    poolKey("k2", { name: "Editor", policy: "soft", uses: [{ used: 1, share: 10 }] }),
    poolKey(null, { policy: null, standing: "lowered", uses: [{ used: 0, share: 0 }] }),
  ],
  accounts: [
    {
      connectionId: "c1",
      provider: "anthropic",
      name: "Work",
      saturated: true,
      windows: {},
      inFlight: 1,
      maxConcurrent: 2,
    },
  ],
  models: ["qtSd/team/anthropic/sonnet"],
});

function gateway(all: QuotaPool[], shown: QuotaPoolState = state): Answers {
  return {
    ...world({
      connections: [connection("c1", { name: "Work" }), connection("c2", { name: "Home" })],
      keys: [key("k1", { name: "Laptop" }), key("k2", { name: "Editor" })],
    }),
    quota_pools_list: () => pools(...all),
    quota_pool_state: () => shown,
    quota_list: () => ({ connections: [] }),
  };
}

describe("Monitoring → Quota → Quota share", () => {
  it("is a tab of the quota screen", async () => {
    const { user, path } = open("/monitoring/quota", fakeHost(gateway([])));
    const tabs = within(await screen.findByRole("navigation", { name: "Views of quotas" }));
    expect(tabs.getByRole("link", { name: "Accounts" })).toHaveAttribute("aria-current", "page");
    await user.click(tabs.getByRole("link", { name: "Quota share" }));
    expect(path()).toBe(at);
    expect(await screen.findByRole("heading", { name: "No account is shared yet" })).toBeVisible();
  });

  it("shows what each key used of its share, and how the accounts stand", async () => {
    open(at, fakeHost(gateway([team])));
    const laptop = await screen.findByRole("meter", { name: "Requests, 1 hour: Laptop" });
    expect(laptop).toHaveAttribute("aria-valuenow", "100");
    expect(laptop).toHaveAttribute("aria-valuetext", "30 of 30 requests");
    expect(laptop.closest("li")).toHaveTextContent(/LaptopRefused, again in (10:00|9:5\d)/);
    expect(screen.getByRole("meter", { name: "Requests, 1 hour: Team" })).toHaveAttribute("aria-valuenow", "78");
    expect(screen.getByText("Requests without a key").closest("li")).toHaveTextContent("Served after others");
    const accounts = within(screen.getByRole("list", { name: "Accounts of Team" }));
    expect(accounts.getByRole("listitem")).toHaveTextContent("WorkUsed up1 of 2 in flight");
    expect(screen.getByText("qtSd/team/anthropic/sonnet")).toBeInTheDocument();
  });

  it("says of a limit in percent what its bar says, also where only the providers know", async () => {
    const measured = { unit: "percent", window: "5h", limit: 100, used: 0, measured: 0.67, strict: true } as const;
    open(at, fakeHost(gateway([team], { ...state, dimensions: [measured] })));
    const bar = await screen.findByRole("meter", { name: "Percent of the account, 5 hours: Team" });
    expect(bar).toHaveAttribute("aria-valuenow", "67");
    expect(bar).toHaveAttribute("aria-valuetext", "67% of 100%");
  });

  it.each([
    [true, "bg-degraded-fill", "bg-blocked"],
    [false, "bg-ready", "bg-degraded-fill"],
  ])("colours limits as the gateway holds keys to them: strictly, %s", async (strict, ofLimit, ofKey) => {
    const [limit] = state.dimensions;
    if (!limit) throw new Error("a limit");
    open(at, fakeHost(gateway([team], { ...state, dimensions: [{ ...limit, used: 20, strict }] })));
    const fill = async (name: string) => (await screen.findByRole("meter", { name })).firstElementChild;
    expect(await fill("Requests, 1 hour: Team")).toHaveClass(ofLimit);
    expect(await fill("Requests, 1 hour: Laptop")).toHaveClass(ofKey);
    expect(await fill("Requests, 1 hour: Editor")).toHaveClass("bg-ready");
  });

  it("makes a pool from a known plan, with a part for each key", async () => {
    const host = fakeHost({ ...gateway([]), quota_pool_create: () => ({ pool: team }) });
    const { user, path } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "New pool" }));
    await user.type(await screen.findByLabelText("Name"), "Team One");
    expect(screen.getByText(/Agents ask for qtSd\/teamone\/provider\/model/)).toBeVisible();
    const create = screen.getByRole("button", { name: "Create the pool" });
    expect(create).toBeDisabled();
    await user.click(await screen.findByRole("checkbox", { name: /Work/ }));
    await user.selectOptions(screen.getByRole("combobox", { name: "Limits of a known plan" }), "Kimi");
    expect(screen.getByLabelText("Amount of limit 1")).toHaveValue("1500");
    await user.click(screen.getByRole("button", { name: "Add a key" }));
    await user.click(screen.getByRole("button", { name: "Add a key" }));
    const laptop = within(screen.getByRole("group", { name: "Laptop" }));
    await user.clear(laptop.getByLabelText("Weight"));
    await user.type(laptop.getByLabelText("Weight"), "3");
    await user.selectOptions(laptop.getByLabelText("At the end of its share"), "Refuse it");
    expect(laptop.getByText("share 75%")).toBeVisible();
    await user.click(create);
    await waitFor(() => expect(path()).toBe(at));
    expect(host.calls("quota_pool_create")).toEqual([
      {
        name: "Team One",
        slug: null,
        connections: ["c1"],
        dimensions: [{ unit: "requests", window: "hourly", limit: 1500 }],
        allocations: [
          { apiKeyId: "k1", weight: 3, capValue: null, policy: "hard" },
          { apiKeyId: "k2", weight: 1, capValue: null, policy: "soft" },
        ],
      },
    ]);
  });

  it("shows a refusal at the field it concerns", async () => {
    const refusal = () =>
      refuse({
        code: "invalid_request",
        details: [{ field: "allocations.0.weight", message: "must be a number from 0 upwards" }],
      });
    const { user } = open(`${at}/team`, fakeHost({ ...gateway([team]), quota_pool_update: refusal }));
    await user.click(await screen.findByRole("button", { name: "Save" }));
    const laptop = within(await screen.findByRole("group", { name: "Laptop" }));
    expect(laptop.getByRole("alert")).toHaveTextContent("must be a number from 0 upwards");
  });

  it("says that a short name is taken", async () => {
    const taken = () => refuse({ code: "conflict", message: "the quota pool Home already has the slug home" });
    const { user } = open(`${at}/team`, fakeHost({ ...gateway([team]), quota_pool_update: taken }));
    await user.click(await screen.findByRole("button", { name: "Save" }));
    await waitFor(() => expect(screen.getByLabelText(/Short name/)).toHaveAccessibleDescription("This name is taken."));
  });

  it("lets an account that is gone be taken out", async () => {
    const old = pool("team", { connections: ["c1", "long-gone"] });
    const host = fakeHost({ ...gateway([old]), quota_pool_update: () => ({ pool: team }) });
    const { user } = open(`${at}/team`, host);
    await user.click(await screen.findByRole("checkbox", { name: "long-gone" }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(host.calls("quota_pool_update")[0]?.connections).toEqual(["c1"]));
  });

  it("asks before it deletes a pool", async () => {
    const host = fakeHost({ ...gateway([team]), quota_pool_delete: () => ({ ok: true }) });
    const { user, path } = open(`${at}/team`, host);
    await user.click(await screen.findByRole("button", { name: "Delete" }));
    const dialog = within(await screen.findByRole("dialog", { name: "Delete the pool Team?" }));
    expect(host.calls("quota_pool_delete")).toEqual([]);
    await user.click(dialog.getByRole("button", { name: "Delete" }));
    await waitFor(() => expect(host.calls("quota_pool_delete")).toEqual([{ id: "team" }]));
    expect(path()).toBe(at);
  });

  it("says what went wrong, and tries again", async () => {
    let isDown = true;
    const host = fakeHost({
      ...gateway([team]),
      quota_pools_list: () => (isDown ? refuse({ code: "internal_error" }) : pools(team)),
    });
    const { user } = open(at, host);
    const again = await screen.findByRole("button", { name: "Try again" });
    isDown = false;
    await user.click(again);
    expect(await screen.findByRole("heading", { name: "Team" })).toBeVisible();
  });

  it("says that a pool is gone", async () => {
    open(`${at}/nobody`, fakeHost(gateway([])));
    expect(await screen.findAllByText("There is no such pool")).toHaveLength(1);
  });

  it("speaks Italian as well", async () => {
    open(at, fakeHost(gateway([team])), { preferences: { language: "it" } });
    await waitFor(() => expect(screen.getByRole("meter", { name: "Richieste, 1 ora: Laptop" })).toBeVisible());
    expect(screen.getByText(/È usata più della metà/)).toBeVisible();
  });

  it("is accessible, list and form", async () => {
    const { container } = open(`${at}/team`, fakeHost(gateway([team])));
    await screen.findByRole("button", { name: "Save" });
    await screen.findByRole("meter", { name: "Requests, 1 hour: Laptop" });
    await expectAccessible(container);
  });
});
