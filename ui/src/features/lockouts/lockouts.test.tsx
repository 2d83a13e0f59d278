import { screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { setReference } from "@/lib/clock";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { inSeconds, modelCooldown, resilienceFields, resilienceWorld } from "@/test/resilience-world";
import { connection, world } from "@/test/world";

const gateway = (part = {}) => ({
  ...world({ connections: [connection("c1", { name: "Work" })] }),
  ...resilienceWorld(part),
});
const sonnet = () => modelCooldown("sonnet", { expiresAt: inSeconds(120) });
const opus = () => modelCooldown("opus", { expiresAt: inSeconds(7_200), reason: "quota_exhausted" });

afterEach(() => setReference(Date.now()));

describe("Settings → Model Cooldowns", () => {
  const at = "/settings/cooldowns";

  it("lists what rests, the next to come back first, with its reason and its end", async () => {
    open(at, fakeHost(gateway({ locks: [opus(), sonnet()] })));
    const [, first, second] = within(await screen.findByRole("grid")).getAllByRole("row");
    expect(first).toHaveTextContent(/sonnet.*Work.*Rate limit.*\d:\d\d/);
    expect(second).toHaveTextContent(/opus.*Quota used up.*at \d\d:\d\d/);
  });

  it("lets a row go when its time is over", async () => {
    open(at, fakeHost(gateway({ locks: [opus(), sonnet()] })));
    await screen.findByText("sonnet");
    setReference(Date.now() + 121_000);
    await waitFor(() => expect(screen.queryByText("sonnet")).not.toBeInTheDocument(), { timeout: 4_000 });
    expect(screen.getByText("opus")).toBeVisible();
  });

  it("re-enables one", async () => {
    const host = fakeHost(gateway({ locks: [opus(), sonnet()] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Re-enable sonnet on Work" }));
    await waitFor(() => expect(screen.queryByText("sonnet")).not.toBeInTheDocument());
    expect(host.calls("model_cooldowns_clear")).toEqual([{ provider: "anthropic", connection: "c1", model: "sonnet" }]);
  });

  it("re-enables several that were chosen, with the keyboard too", async () => {
    const haiku = modelCooldown("haiku", { expiresAt: inSeconds(300) });
    const host = fakeHost(gateway({ locks: [opus(), sonnet(), haiku] }));
    const { user } = open(at, host);
    (await screen.findByRole("grid")).focus();
    await user.keyboard(" {ArrowDown} ");
    await user.click(screen.getByRole("button", { name: "Re-enable 2 selected" }));
    await waitFor(() => expect(screen.queryByText("haiku")).not.toBeInTheDocument());
    expect(host.calls("model_cooldowns_clear").map(({ model }) => model)).toEqual(["sonnet", "haiku"]);
    expect(screen.getByText("opus")).toBeVisible();
  });

  it("asks before it re-enables all, and then says what this place is for", async () => {
    const host = fakeHost(gateway({ locks: [opus(), sonnet()] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Re-enable all" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Re-enable all" }));
    expect(await screen.findByRole("heading", { name: "No model is resting" })).toBeVisible();
    expect(host.calls("model_cooldowns_clear")).toEqual([{ all: true }]);
  });

  it("does not act on what the filter hides", async () => {
    const host = fakeHost(gateway({ locks: [opus(), sonnet()] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("checkbox", { name: "Select all" }));
    await user.type(screen.getByRole("searchbox"), "opus");
    await user.click(screen.getByRole("button", { name: "Re-enable 1 selected" }));
    await waitFor(() => expect(host.calls("model_cooldowns_clear").map(({ model }) => model)).toEqual(["opus"]));
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway({ locks: [opus(), sonnet()] })));
    await screen.findByText("sonnet");
    await expectAccessible(container);
  });
});

describe("Settings → Model Lockout", () => {
  const at = "/settings/lockout";

  it("shows how a lock grows under the settings above", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const steps = () => screen.getAllByText(/^Failure \d+$/).length;
    const longest = await screen.findByLabelText("Longest lock");
    expect(steps()).toBe(5);
    await user.clear(longest);
    await user.type(longest, "4{Enter}");
    await waitFor(() => expect(steps()).toBe(2));
    expect(host.calls("settings_update")).toEqual([
      { resilienceSettings: { modelLockout: { maxCooldownMs: 240_000 } } },
    ]);
  });

  it("takes status codes off and adds further ones within bounds", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Remove 404" }));
    const codes = screen.getByLabelText("Status codes that lock");
    await user.type(codes, "99{Enter}");
    expect(await screen.findByText("Must be between 100 and 599.")).toBeVisible();
    await user.clear(codes);
    await user.type(codes, "529{Enter}");
    await waitFor(() => expect(host.calls("settings_update")).toHaveLength(2));
    const saved = host.calls("settings_update").map((patch) => JSON.stringify(patch));
    expect(saved[0]).toContain("[403,429,502,503,504]");
    expect(saved[1]).toContain("[403,429,502,503,504,529]");
  });

  it("has a row for each of its settings", async () => {
    open(at, fakeHost(gateway()));
    await screen.findByLabelText("Longest lock");
    const expected = resilienceFields.filter(({ path }) => path.includes("modelLockout")).length;
    expect(screen.getAllByText("default")).toHaveLength(expected);
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway()));
    await screen.findByLabelText("Longest lock");
    await expectAccessible(container);
  });
});
