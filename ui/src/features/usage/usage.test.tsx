import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { UsageGroup, UsageSummary } from "@/bindings";
import { type Answers, fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { world } from "@/test/world";

const at = "/usage";
const today = new Date().toISOString().slice(0, 10);

function group(name: string | null, part: Partial<UsageGroup> = {}): UsageGroup {
  return {
    group: name,
    name: null,
    requests: 10,
    successes: 9,
    failures: 1,
    aborted: 0,
    tokensInput: 12_000,
    tokensOutput: 900,
    tokensCacheRead: 6_000,
    tokensCacheCreation: 0,
    tokensReasoning: 0,
    cost: 1.5,
    ...part,
  };
}

function gateway(): Answers {
  const summary = (groups: UsageGroup[]): UsageSummary => ({
    since: "2026-01-01T00:00:00.000Z",
    until: "2026-01-31T00:00:00.000Z",
    groups,
    totals: group(null, { requests: 20, successes: 18, failures: 2, cost: 2 }),
  });
  const of: Record<string, UsageGroup[]> = {
    day: [group(today)],
    provider: [group("ollama", { cost: 0.5 }), group("anthropic"), group(null, { cost: 0 })],
    combo: [group("coding"), group(null, { cost: 0.1 })],
    key: [group("k1", { name: "Laptop" })],
  };
  return { ...world(), usage_summary: ({ groupBy }) => summary(of[groupBy ?? "day"] ?? []) };
}

describe("Usage", () => {
  it("says what was consumed in all, day by day, and by whom, the greatest part first", async () => {
    const { container } = open(at, fakeHost(gateway()));
    expect(await screen.findByText(/^\D+2\.00$/)).toBeVisible();
    expect(screen.getByText("90%", { selector: "dd" })).toBeVisible();
    expect(screen.getByRole("img", { name: /^Cost of the last 30 days: \D+1\.50 in all, most on/ })).toBeVisible();
    const [, first, second, last] = within(await screen.findByRole("grid", { name: "Provider" })).getAllByRole("row");
    expect(first).toHaveTextContent(/Anthropic75%1090%12K900\D+1\.50/i);
    expect(second).toHaveTextContent(/Ollama25%/);
    expect(last).toHaveTextContent(/no provider reached/);
    await expectAccessible(container);
  });

  it("keeps what is looked at in the address", async () => {
    const host = fakeHost(gateway());
    const { user, router } = open(at, host);
    await user.click(await screen.findByRole("radio", { name: "Combo" }));
    expect(await screen.findByRole("grid", { name: "Combo" })).toHaveTextContent(/coding.*without a combo/);
    await user.click(screen.getByRole("radio", { name: "7 days" }));
    await user.click(screen.getByRole("radio", { name: "Tokens" }));
    await waitFor(() => expect(router.state.location.search).toEqual({ by: "combo", days: 7, measure: "tokens" }));
    expect(await screen.findByRole("img", { name: /^Tokens of the last 7 days/ })).toBeVisible();
  });

  it("plots tokens where nothing has a price", async () => {
    const unpriced = group(today, { cost: 0 });
    const { since, until } = { since: "2026-01-01T00:00:00.000Z", until: "2026-01-31T00:00:00.000Z" };
    const usage_summary = () => ({ since, until, groups: [unpriced], totals: unpriced });
    open(at, fakeHost({ ...world(), usage_summary }));
    expect(await screen.findByRole("img", { name: /^Tokens of the last 30 days/ })).toBeVisible();
    expect(screen.getByRole("radio", { name: "Tokens" })).toBeChecked();
  });

  it("reads the address, and calls keys by their names", async () => {
    open(`${at}?by=key`, fakeHost(gateway()));
    expect(await screen.findByRole("grid", { name: "Key" })).toHaveTextContent("Laptop");
  });

  it("tells a newcomer what will be here", async () => {
    const none = group(null, { requests: 0, successes: 0, failures: 0, cost: 0 });
    const host = fakeHost({
      ...gateway(),
      usage_summary: () => ({ since: today, until: today, groups: [], totals: none }),
    });
    open(at, host);
    expect(await screen.findByRole("heading", { name: "Nothing was consumed yet" })).toBeVisible();
    expect(screen.queryByRole("button", { name: "Save as CSV" })).toBeNull();
  });

  it("says why it could not be read", async () => {
    const host = fakeHost({
      ...gateway(),
      usage_summary: () => refuse({ code: "internal_error", message: "disk full" }),
    });
    open(at, host);
    expect(await screen.findByRole("alert")).toHaveTextContent("disk full");
  });

  it("speaks Italian as well", async () => {
    open(at, fakeHost(gateway()), { preferences: { language: "it" } });
    expect(await screen.findByRole("heading", { name: "Consumi" })).toBeVisible();
    expect(await screen.findByText("nessun provider raggiunto")).toBeVisible();
  });
});
