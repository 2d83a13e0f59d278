import { screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { setReference } from "@/lib/clock";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { cooldownRow, inSeconds, resilienceWorld } from "@/test/resilience-world";
import { connection, world } from "@/test/world";

const at = "/monitoring/cooldowns";
const gateway = (part = {}) => ({
  ...world({ connections: [connection("banned", { name: "Old" })] }),
  ...resilienceWorld(part),
});
const rows = () => [
  cooldownRow("fine", { name: "Fine" }),
  cooldownRow("cooling", { name: "Work", status: "cooling_down", rateLimitedUntil: inSeconds(60), backoffLevel: 2 }),
  cooldownRow("banned", { name: "Old", status: "terminal", testStatus: "banned", lastError: "suspended" }),
  cooldownRow("other", {
    name: "Spare",
    provider: "ollama",
    status: "model_locked",
    lockouts: [{ model: "m", reason: "rate_limit", scope: "model", remainingMs: 90_000, expiresAt: inSeconds(90) }],
  }),
];
const names = () =>
  within(screen.getByRole("grid", { name: "Cooldown Manager" }))
    .getAllByRole("row")
    .slice(1)
    .map((row) => row.querySelector(".font-medium")?.textContent);

afterEach(() => setReference(Date.now()));

describe("Monitoring → Cooldown Manager", () => {
  it("lists what is out of rotation, what needs a person first", async () => {
    open(at, fakeHost(gateway({ rows: rows() })));
    await screen.findByText("Work");
    expect(names()).toEqual(["Old", "Work", "Spare"]);
  });

  it("sends whoever needs a person to the connection's page and never clears it", async () => {
    const host = fakeHost(gateway({ rows: rows() }));
    const { user, path } = open(at, host);
    await screen.findByText("Old");
    expect(screen.queryByRole("button", { name: "Clear Old" })).not.toBeInTheDocument();
    expect(screen.queryByRole("checkbox", { name: "Select Old" })).not.toBeInTheDocument();
    await user.click(screen.getByRole("link", { name: "Repair Old" }));
    await waitFor(() => expect(path()).toBe("/providers/anthropic/connections/banned"));
    expect(host.calls("cooldowns_clear")).toEqual([]);
  });

  it("clears one", async () => {
    const host = fakeHost(gateway({ rows: rows() }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Clear Work" }));
    await waitFor(() => expect(names()).toEqual(["Old", "Spare"]));
    expect(host.calls("cooldowns_clear")).toEqual([{ connectionIds: ["cooling"] }]);
    expect(await screen.findByText("1 connection is back")).toBeVisible();
  });

  it("clears a selection, which never holds what needs a person", async () => {
    const host = fakeHost(gateway({ rows: rows() }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("checkbox", { name: "Select all" }));
    await user.click(screen.getByRole("button", { name: "Clear 2 selected" }));
    await waitFor(() => expect(names()).toEqual(["Old"]));
    expect(host.calls("cooldowns_clear")).toEqual([{ connectionIds: ["cooling", "other"] }]);
  });

  it("clears a provider after asking", async () => {
    const host = fakeHost(gateway({ rows: rows() }));
    const { user } = open(`${at}?provider=anthropic`, host);
    await user.click(await screen.findByRole("button", { name: "Clear all of Anthropic" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Clear all of Anthropic" }));
    await waitFor(() => expect(names()).toEqual(["Old"]));
    expect(host.calls("cooldowns_clear")).toEqual([{ all: true, provider: "anthropic" }]);
    expect(await screen.findByText(/1 needs a person and stayed as it was/)).toBeVisible();
  });

  it("keeps its filters in the address", async () => {
    const { user, router } = open(at, fakeHost(gateway({ rows: rows() })));
    await user.selectOptions(await screen.findByLabelText("Status"), "healthy");
    await waitFor(() => expect(names()).toEqual(["Fine"]));
    expect(router.state.location.search).toEqual({ status: "healthy" });
  });

  it("lets a connection go when its time is over, and says that all is well", async () => {
    open(at, fakeHost(gateway({ rows: rows().slice(0, 2) })));
    await screen.findByText("Work");
    setReference(Date.now() + 61_000);
    expect(
      await screen.findByRole("heading", { name: "Every connection is in rotation" }, { timeout: 4_000 }),
    ).toBeVisible();
  });

  it("edits the common rules in place", async () => {
    const host = fakeHost(gateway({ rows: rows() }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("switch", { name: "Rest an account whose stream stalls" }));
    const rest = await screen.findByLabelText("First rest, Subscription");
    await user.clear(rest);
    await user.type(rest, "10{Enter}");
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        { resilienceSettings: { streamStallCooldown: { enabled: true } } },
        { resilienceSettings: { connectionCooldown: { oauth: { baseCooldownMs: 10_000 } } } },
      ]),
    );
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway({ rows: rows() })));
    await screen.findByText("Work");
    await screen.findByLabelText("First rest, Subscription");
    await expectAccessible(container);
  });
});
