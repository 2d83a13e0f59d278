import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import { combo, comboWorld } from "@/test/combo-world";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { attempt, connection, detail, request, underway, world } from "@/test/world";

const answered = request("r1", { agent: "codex_cli_rs", requestedModel: "fast", provider: "anthropic" });
const limited = request("r2", {
  outcome: "failure",
  status: 429,
  attempts: 2,
  provider: "ollama",
  requestedModel: "ollama/qwen3",
  errorCode: "rate_limit_exceeded",
  errorSummary: "slow down",
  tokensInput: null,
  tokensOutput: null,
  ttftMs: null,
});

const many = (n: number) => Array.from({ length: n }, (_, i) => request(`r${i}`, { requestedModel: `model-${i}` }));

describe("the request log", () => {
  it("says who asked for what, who answered and how it went", async () => {
    open("/requests", fakeHost(world({ requests: [answered, limited] })));
    const grid = await screen.findByRole("grid", { name: "Requests" });
    const [, first, second] = within(grid).getAllByRole("row");
    expect(first).toHaveTextContent(/Codex.*fast → anthropic\/claude-sonnet-4-6.*Work.*Answered.*200.*410 ms.*1\.2 s/);
    expect(second).toHaveTextContent(/Claude Code.*ollama\/qwen3.*Work ×2.*Failed.*429/);
  });

  it("speaks Italian as well", async () => {
    open("/requests", fakeHost(world({ requests: [answered, limited] })), { preferences: { language: "it" } });
    const grid = await screen.findByRole("grid", { name: "Richieste" });
    expect(within(grid).getByText("Riuscita")).toBeVisible();
    expect(within(grid).getByText("Fallita")).toBeVisible();
  });

  it("keeps its filters in the address, and reads them from there", async () => {
    const host = fakeHost(world({ requests: [answered, limited], connections: [connection("c1")] }));
    const { user, router } = open("/requests?outcome=failure", host);
    expect(await screen.findByText("ollama/qwen3")).toBeVisible();
    expect(screen.queryByText("fast")).not.toBeInTheDocument();
    await user.keyboard("/");
    expect(screen.getByRole("searchbox", { name: "Filter requests" })).toHaveFocus();
    await user.keyboard("qwen");
    await waitFor(() => expect(router.state.location.search).toEqual({ outcome: "failure", text: "qwen" }));
    await user.selectOptions(screen.getByLabelText("Outcome"), "Any outcome");
    await waitFor(() => expect(router.state.location.search).toEqual({ text: "qwen" }));
    await waitFor(() => expect(host.calls("requests_list")).toContainEqual({ text: "qwen", limit: 100 }));
  });

  it("shows the requests of one combo alone, also of one that is gone", async () => {
    const ofTeam = request("r3", { comboName: "team", requestedModel: "team" });
    const host = fakeHost({
      ...world({ requests: [answered, ofTeam] }),
      ...comboWorld({ combos: [combo("team"), combo("idle")] }),
    });
    const { user, router } = open("/requests?combo=old", host);
    const filter = await screen.findByLabelText("Combo");
    expect(filter).toHaveDisplayValue("old");
    await user.selectOptions(filter, await screen.findByRole("option", { name: "team" }));
    await waitFor(() => expect(router.state.location.search).toEqual({ combo: "team" }));
    expect(within(await screen.findByRole("grid")).getAllByRole("row")).toHaveLength(2);
    expect(host.calls("requests_list")).toContainEqual({ combo: "team", limit: 100 });
  });

  it("says so when nothing fits the filters, and takes them away", async () => {
    const { user } = open("/requests?text=zzz", fakeHost(world({ requests: [answered] })));
    await user.click(await screen.findByRole("link", { name: "Clear filters" }));
    expect(await screen.findByText("Codex")).toBeVisible();
  });

  it("shows a request the moment it arrives", async () => {
    const requests = [answered];
    const host = fakeHost(world({ requests }));
    open("/requests", host);
    await screen.findByText("Codex");
    requests.unshift(request("r3", { agent: "aider" }));
    act(() => host.announce("requests"));
    expect(await screen.findByText("aider")).toBeVisible();
    expect(screen.getByText("Codex")).toBeVisible();
  });

  it("keeps what is read in its place and counts what arrives above", async () => {
    const requests = many(12);
    const host = fakeHost(world({ requests }));
    open("/requests", host);
    await screen.findByText("model-0");
    const view = document.querySelector("[data-scroll]") as HTMLElement;
    view.scrollTop = 200;
    requests.unshift(request("new", { requestedModel: "model-new" }));
    act(() => host.announce("requests"));
    expect(await screen.findByRole("button", { name: "1 new request" })).toBeVisible();
    expect(view.scrollTop).toBe(240);
  });

  it("reads older pages on request and keeps them when new rows come", async () => {
    const requests = many(150);
    const host = fakeHost(world({ requests }));
    const { user } = open("/requests", host);
    await user.click(await screen.findByRole("button", { name: "Show older requests" }));
    await waitFor(() => expect(screen.getByRole("grid")).toHaveAttribute("aria-rowcount", "151"));
    expect(screen.queryByRole("button", { name: "Show older requests" })).not.toBeInTheDocument();
    requests.unshift(request("new"));
    act(() => host.announce("requests"));
    await waitFor(() => expect(screen.getByRole("grid")).toHaveAttribute("aria-rowcount", "152"));
  });

  it("reads on while the end stays in sight", async () => {
    const requests = many(350);
    // As a browser does: an observer tells how things are once, and then only what changes.
    vi.stubGlobal(
      "IntersectionObserver",
      class {
        constructor(readonly tell: (entries: { isIntersecting: boolean }[]) => void) {}
        observe() {
          queueMicrotask(() => this.tell([{ isIntersecting: true }]));
        }
        disconnect() {}
      },
    );
    open("/requests", fakeHost(world({ requests })));
    await waitFor(() => expect(screen.getByRole("grid")).toHaveAttribute("aria-rowcount", "351"));
    vi.unstubAllGlobals();
  });

  it("tells a newcomer what will be here", async () => {
    open("/requests", fakeHost(world()));
    expect(await screen.findByRole("heading", { name: "No request has come in yet" })).toBeVisible();
    // An agent without a provider would get no answer.
    expect(await screen.findByRole("link", { name: "Start set-up" })).toHaveAttribute("href", "/setup");
  });

  it("lets an agent be connected once a provider is", async () => {
    open("/requests", fakeHost(world({ connections: [connection("c1")] })));
    expect(await screen.findByRole("link", { name: "Connect an agent" })).toHaveAttribute("href", "/settings/agents");
  });

  it("deletes the log only after asking", async () => {
    const host = fakeHost(world({ requests: [answered] }));
    const { user } = open("/requests", host);
    await user.click(await screen.findByRole("button", { name: "Delete log" }));
    const dialog = await screen.findByRole("dialog", { name: "Delete the whole request log?" });
    expect(host.calls("requests_delete")).toEqual([]);
    await user.click(within(dialog).getByRole("button", { name: "Delete log" }));
    expect(await screen.findByRole("heading", { name: "No request has come in yet" })).toBeVisible();
    expect(host.calls("requests_delete")).toEqual([{ all: true }]);
  });

  it("is accessible", async () => {
    const { container } = open("/requests", fakeHost(world({ requests: [answered, limited] })));
    await screen.findByRole("grid");
    await expectAccessible(container);
  });
});

describe("the story of a request", () => {
  const story = detail(limited, {
    attempts: [
      attempt(1, {
        status: 429,
        kind: "rate_limit",
        decision: "next_connection",
        message: "slow down",
        firstTokenMs: null,
      }),
      attempt(2, {
        status: null,
        kind: "unreachable",
        decision: "next_connection",
        connectMs: null,
        firstTokenMs: null,
      }),
    ],
    exclusions: [
      {
        provider: "anthropic",
        model: "claude-sonnet-4-6",
        connectionId: "c3",
        connectionName: "Old account",
        mechanism: "switched_off",
        reason: "switched_off",
        until: null,
        cause: null,
      },
    ],
    changes: ["BACKGROUND_DEGRADE"],
  });

  it("opens beside the list, at an address of its own, with the filters kept", async () => {
    const host = fakeHost(world({ requests: [answered, limited], details: [story] }));
    const { user, path, router } = open("/requests?outcome=failure", host);
    await user.click(await screen.findByText("ollama/qwen3"));
    expect(await screen.findByRole("complementary")).toBeVisible();
    expect(path()).toBe("/requests/r2");
    expect(router.state.location.search).toEqual({ outcome: "failure" });
    await user.keyboard("{Escape}");
    await waitFor(() => expect(path()).toBe("/requests"));
    expect(router.state.location.search).toEqual({ outcome: "failure" });
  });

  it("calls nothing failed that answered beside or before the one passed on", async () => {
    const together = detail(answered, { attempts: [attempt(1), attempt(2), attempt(3)] });
    open(`/requests/${answered.id}`, fakeHost(world({ requests: [answered], details: [together] })));
    expect(await screen.findByRole("heading", { name: /; Work answered in 1\.2/ })).toBeVisible();
  });

  it("tells in one sentence what happened, then each attempt and each omission", async () => {
    open("/requests/r2", fakeHost(world({ requests: [limited], details: [story] })));
    await screen.findByRole("heading", { name: "Attempts" });
    const panel = screen.getByRole("complementary");
    expect(
      within(panel).getByRole("heading", { name: /^Claude Code asked for ollama\/qwen3 ?\. Both attempts failed\.$/ }),
    ).toBeVisible();
    const [first, second] = within(
      within(panel).getByRole("heading", { name: "Attempts" }).parentElement as HTMLElement,
    )
      .getAllByRole("listitem")
      .filter((item) => item.querySelector("a"));
    expect(first).toHaveTextContent(
      /Account 1.*Failed.*429.*connecting 1\.2 s.*The account's rate limit is reached\.Went on to the next connection\.slow down/,
    );
    expect(second).toHaveTextContent(/Account 2.*No answer.*could not be reached.*No other connection was left to try/);
    const omitted = within(panel).getByRole("region", { name: "Why it is left out: Old account" });
    expect(omitted).toHaveTextContent(/Switched off.*Somebody switched this connection off.*Until someone acts/);
    expect(within(omitted).getByRole("link", { name: "Open connection" })).toHaveAttribute(
      "href",
      "/providers/anthropic/connections/c3",
    );
    expect(panel).toHaveTextContent("“background” was removed");
    expect(panel).toHaveTextContent("the provider in front of the slash");
  });

  it("blames nobody who was not asked, and tells of a rest that is over", async () => {
    const until = new Date(Date.now() - 60_000).toISOString();
    const row = request("r5", { outcome: "failure", status: 500, errorCode: "internal_server_error" });
    const resting = { ...story.trace.exclusions[0], mechanism: "connection_cooldown", reason: "cooldown", until };
    const told = detail(row, { attempts: [], exclusions: [resting as (typeof story.trace.exclusions)[number]] });
    open("/requests/r5", fakeHost(world({ requests: [row], details: [told] })));
    expect(await screen.findByRole("heading", { name: "Every connection was left out" })).toBeVisible();
    expect(screen.queryByText("The provider had an error of its own")).not.toBeInTheDocument();
    expect(screen.getByRole("region", { name: /^Why it is left out/ })).toHaveTextContent(/\d\d:\d\d:\d\d, is over/);
  });

  it("tells the combo, how it chose, and how long an attempt was waited for", async () => {
    const at = (ms: number) => new Date(Date.parse("2026-01-01T00:00:00Z") + ms).toISOString();
    const row = request("r4", { timestamp: at(0), comboName: "team", strategy: "round-robin", durationMs: 6_000 });
    const story = detail(row, {
      attempts: [
        attempt(1, {
          startedAt: at(20),
          durationMs: 980,
          status: 429,
          kind: "rate_limit",
          decision: "next_connection",
        }),
        attempt(2, { startedAt: at(5_000), durationMs: 1_000, queuedMs: 300, connectMs: 400, firstTokenMs: 600 }),
      ],
    });
    const { user, router } = open("/requests/r4", fakeHost(world({ requests: [row], details: [story] })));
    await screen.findByRole("heading", { name: "Attempts" });
    const panel = screen.getByRole("complementary");
    expect(panel).toHaveTextContent(/Combo\s*team\s*Strategy\s*Round robin/);
    expect(within(panel).getByTitle("Nobody was asked meanwhile")).toHaveTextContent("waited 4.0 s before");
    expect(panel).toHaveTextContent("queued 300 ms");
    await user.click(within(panel).getByRole("link", { name: "team" }));
    await waitFor(() => expect(router.state.location.search).toEqual({ combo: "team" }));
  });

  it("tells it in Italian", async () => {
    open("/requests/r2", fakeHost(world({ requests: [limited], details: [story] })), {
      preferences: { language: "it" },
    });
    expect(
      await screen.findByRole("heading", {
        name: /^Claude Code ha chiesto ollama\/qwen3 ?\. Entrambi i tentativi sono falliti\.$/,
      }),
    ).toBeVisible();
    expect(screen.getByText("Il limite di frequenza è raggiunto")).toBeVisible();
  });

  it("counts what was used, cache and reasoning included", async () => {
    const used = request("r1", { tokensCacheRead: 900, tokensReasoning: 30, cost: 0.0042 });
    open("/requests/r1", fakeHost(world({ requests: [used], details: [detail(used)] })));
    await screen.findByRole("heading", { name: "Usage" });
    const panel = screen.getByRole("complementary");
    expect(panel).toHaveTextContent(/1,200 tokens · 900 read from cache.*80 tokens · 30 reasoning.*0\.0042/);
  });

  it("says of each call of a panel what it used, and nothing of one whose use is the request's", async () => {
    const calls = [attempt(1, { tokensInput: 1_200, tokensOutput: 80, cost: 0.0042 }), attempt(2)];
    const panel = detail(answered, { attempts: calls });
    open(`/requests/${answered.id}`, fakeHost(world({ requests: [answered], details: [panel] })));
    await screen.findByRole("heading", { name: "Attempts" });
    const [first, second] = screen
      .getAllByRole("listitem")
      .filter((item) => /Account [12]/.test(item.textContent ?? ""));
    expect(first).toHaveTextContent(/1,200 tokens in, 80 out · \$0\.0042/);
    expect(second).not.toHaveTextContent(/tokens/);
  });

  it("is copied as curl, with a placeholder for the key", async () => {
    const { user } = open("/requests/r1", fakeHost(world({ requests: [answered], details: [detail(answered)] })));
    const write = vi.spyOn(navigator.clipboard, "writeText");
    await user.click(await screen.findByRole("button", { name: "Copy as curl" }));
    const [text] = write.mock.calls[0] ?? [];
    expect(text).toContain("curl http://127.0.0.1:20128/v1/messages");
    expect(text).toContain("Bearer YOUR_KEY");
    expect(text).toContain('"model":"fast"');
  });

  it("shows what was said where that is kept, and is silent where it is not", async () => {
    const said = { requestBody: '{"model":"fast"}', responseBody: '{"text":"Hello"}' };
    const host = fakeHost(world({ requests: [answered, limited], details: [{ ...detail(answered), ...said }, story] }));
    open("/requests/r1", host);
    expect(await screen.findByRole("heading", { name: "What was said" })).toBeVisible();
    expect(screen.getByText(/"model": "fast"/)).toBeVisible();
    expect(screen.getByText(/"text": "Hello"/)).toBeVisible();
    open("/requests/r2", host);
    await screen.findByRole("heading", { name: "Attempts" });
    expect(screen.queryAllByRole("heading", { name: "What was said" })).toHaveLength(1);
  });

  it("says so when it is no longer in the log", async () => {
    open("/requests/gone", fakeHost(world({ requests: [answered] })));
    expect(await screen.findByText("This request is no longer in the log")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = open("/requests/r2", fakeHost(world({ requests: [limited], details: [story] })));
    await screen.findByRole("heading", { name: "Attempts" });
    await expectAccessible(container);
  });
});

describe("the story of a request to a combo", () => {
  it("shows the plan, and what was changed on the way with what it is about", async () => {
    const told = detail(request("r1", { comboName: "coding", strategy: "priority", requestedModel: "coding" }), {
      order: ["anthropic/claude", "openai/gpt"],
      changes: ["DROPPED_PARAMETER:top_k"],
    });
    open("/requests/r1", fakeHost(world({ details: [told] })));
    const planned = await screen.findByText("Asked in order");
    const panel = screen.getByRole("complementary");
    expect(planned.nextSibling).toHaveTextContent("anthropic/claude › openai/gpt");
    expect(panel).toHaveTextContent(/top_kThe provider's format has no place for this parameter/);
  });
});

describe("requests on their way", () => {
  it("stand above the log as soon as one waits for them, each with what it waits for", async () => {
    const host = fakeHost(world({ requests: [answered] }));
    open("/requests", host);
    await screen.findByRole("grid", { name: "Requests" });
    const until = new Date(Date.now() + 42_000).toISOString();
    const rows = [
      underway("w1", { stage: "waits_for_rest", until, requestedModel: "coding", connectionName: null }),
      underway("w2", { attempts: 2 }),
      underway("w3", { timestamp: new Date().toISOString(), requestedModel: "just-arrived" }),
    ];
    act(() => host.flow({ inFlight: 3, underway: rows }));
    const grid = screen.getByRole("grid", { name: "In flight" });
    const [, resting, asking] = within(grid).getAllByRole("row");
    expect(resting).toHaveTextContent(/coding.*Waiting, goes on 0:4\d/);
    expect(asking).toHaveTextContent(/Claude Code.*Work.*Waiting for the answer.*attempt 2/);
    expect(grid).not.toHaveTextContent("just-arrived");
    act(() => host.flow({ inFlight: 0 }));
    expect(screen.queryByRole("grid", { name: "In flight" })).toBeNull();
  });

  it("are left out while the log is filtered", async () => {
    const host = fakeHost(world({ requests: [answered] }));
    open("/requests?outcome=success", host);
    await screen.findByRole("grid", { name: "Requests" });
    act(() => host.flow({ inFlight: 1, underway: [underway("w1")] }));
    expect(screen.queryByRole("grid", { name: "In flight" })).toBeNull();
    expect(screen.getByText("1 in flight")).toBeVisible();
  });
});
