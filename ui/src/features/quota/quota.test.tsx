import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { QuotaConnection } from "@/bindings";
import { fakeHost, refuse } from "@/test/fake-host";
import { quota } from "@/test/quota-world";
import { expectAccessible, open } from "@/test/render";
import { inSeconds } from "@/test/resilience-world";
import { connection, world } from "@/test/world";

const at = "/monitoring/quota";

const subscription = quota("c1", {
  plan: "max",
  source: "endpoint",
  fetchedAt: inSeconds(-120),
  canRefresh: true,
  windows: {
    weekly: { percentUsed: 0.85, resetAt: inSeconds(3 * 86_400) },
    session: { percentUsed: 0.38, resetAt: inSeconds(600) },
    "7d:opus": { percentUsed: null, resetAt: null },
  },
});
const local = quota("c2", { provider: "ollama", message: "nothing is known: its vendor is not asked" });

function gateway(connections: QuotaConnection[]) {
  return {
    ...world({
      connections: [connection("c1", { name: "Work" }), connection("c2", { name: "Desk", provider: "ollama" })],
    }),
    quota_list: () => ({ connections: [...connections] }),
  };
}

describe("Monitoring → Quota", () => {
  it("shows each window with what is used of it, its reset, and who said so when", async () => {
    open(at, fakeHost(gateway([subscription, local])));
    const row = (await screen.findByRole("link", { name: "Work" })).closest("li") as HTMLElement;
    const session = within(row).getByRole("meter", { name: "5 hours of Work" });
    expect(session).toHaveAttribute("aria-valuenow", "38");
    expect(session).toHaveAttribute("aria-valuetext", "38% used");
    expect(row).toHaveTextContent(/max.*Running low.*Asked of its provider, 2 min\.? ago/);
    expect(row).toHaveTextContent(/5 hours38% usedresets in (10:00|9:5\d)Week85% usedresets on/);
  });

  it("shows what is unknown as unknown, never as a figure", async () => {
    open(at, fakeHost(gateway([subscription, local])));
    const row = (await screen.findByRole("link", { name: "Work" })).closest("li") as HTMLElement;
    expect(within(row).getAllByRole("meter")).toHaveLength(2);
    expect(row).toHaveTextContent("Week, opusunknown");
    const desk = screen.getByRole("link", { name: "Desk" }).closest("section") as HTMLElement;
    expect(desk).toHaveTextContent(/^Nothing known yet.*replies have announced nothing/);
    expect(desk).not.toHaveTextContent(/\d/);
  });

  it("names a few of the accounts that tell nothing, and counts the others", async () => {
    const many = Array.from({ length: 11 }, (_, index) => quota(`s${index}`, { provider: "openai" }));
    const { container } = open(at, fakeHost(gateway(many)));
    expect(await screen.findByRole("link", { name: "and 3 more" })).toHaveAttribute("href", "/providers/openai");
    expect(screen.getAllByRole("link", { name: /^s\d/ })).toHaveLength(8);
    await expectAccessible(container);
  });

  it("names those that were never asked in few lines, with what helps", async () => {
    const unasked = quota("c2", { canRefresh: true, message: "nobody has asked its vendor yet" });
    open(at, fakeHost(gateway([subscription, unasked])));
    const desk = (await screen.findByRole("link", { name: "Desk" })).closest("section") as HTMLElement;
    expect(desk).toHaveTextContent(/^Not asked yet.*press Refresh/);
    expect(desk).not.toHaveTextContent(/Unknown|Work|vendor/);
  });

  it("asks the providers anew, and says where that was in vain", async () => {
    const accounts = [subscription];
    const host = fakeHost({
      ...gateway(accounts),
      quota_refresh: () => {
        accounts[0] = { ...subscription, message: "429 from its vendor" };
        return { connections: accounts };
      },
    });
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Refresh" }));
    expect(await screen.findByText(/429 from its vendor/)).toBeVisible();
    expect(screen.getByText("38% used")).toBeVisible();
    expect(host.calls("quota_refresh")).toEqual([{}]);
  });

  it("asks nobody where nobody can be asked", async () => {
    open(at, fakeHost(gateway([local])));
    expect(await screen.findByRole("button", { name: "Refresh" })).toBeDisabled();
  });

  it("shows balances with their currency", async () => {
    const balances = [{ currency: "USD", remaining: 4.2, total: 20 }];
    open(at, fakeHost(gateway([quota("c1", { source: "endpoint", balances })])));
    expect(await screen.findByText("4.20 USD left of 20.00 USD")).toBeVisible();
  });

  it("tells a newcomer what will be here", async () => {
    open(at, fakeHost(gateway([])));
    expect(await screen.findByRole("heading", { name: "No account to look at yet" })).toBeVisible();
    expect(screen.getByRole("link", { name: "Add connection" })).toBeVisible();
  });

  it("says what went wrong, and tries again", async () => {
    let isDown = true;
    const host = fakeHost({
      ...gateway([local]),
      quota_list: () => (isDown ? refuse({ code: "internal_error" }) : { connections: [local] }),
    });
    const { user } = open(at, host);
    const again = await screen.findByRole("button", { name: "Try again" });
    isDown = false;
    await user.click(again);
    expect(await screen.findByRole("link", { name: "Desk" })).toBeVisible();
  });

  it("draws how the windows of an account filled, with their resets in words", async () => {
    const points = [
      { window: "session", at: inSeconds(-7_200), percentUsed: 0.2, resetAt: inSeconds(-3_600) },
      { window: "session", at: inSeconds(-1_800), percentUsed: 0.38, resetAt: inSeconds(600) },
    ];
    const host = fakeHost({ ...gateway([subscription, local]), quota_history: () => ({ points }) });
    const { user, container } = open(at, host);
    const row = (await screen.findByRole("link", { name: "Work" })).closest("li") as HTMLElement;
    expect(host.calls("quota_history")).toEqual([]);
    await user.click(within(row).getByRole("button", { name: "History" }));
    const plot = await within(row).findByRole("img", { name: /^5 hours of Work since/ });
    expect(plot).toHaveAccessibleName(/between 0% and 38% used, 38% now, 1 reset$/);
    expect(host.calls("quota_history")[0]?.connectionId).toBe("c1");
    await user.click(within(row).getByRole("radio", { name: "7 days" }));
    await waitFor(() => expect(host.calls("quota_history")).toHaveLength(2));
    await expectAccessible(container);
  });

  it("says that nothing was announced, where there is no history", async () => {
    const host = fakeHost({ ...gateway([subscription]), quota_history: () => ({ points: [] }) });
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "History" }));
    expect(await screen.findByText("Nothing was announced in this time.")).toBeVisible();
  });

  it("speaks Italian as well", async () => {
    open(at, fakeHost(gateway([subscription, local])), { preferences: { language: "it" } });
    await waitFor(() => expect(screen.getByRole("meter", { name: "5 ore di Work" })).toBeVisible());
    expect(screen.getByText("Quasi esaurita")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway([subscription, local])));
    await screen.findByRole("link", { name: "Work" });
    await expectAccessible(container);
  });
});
