import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { explanation, inSeconds, leftOut, outlook, resilienceWorld } from "@/test/resilience-world";
import { connection, detail, model, request, world } from "@/test/world";

const at = "/monitoring/explain";
const asked = `${at}?model=anthropic%2Fclaude-sonnet-4-6`;
const cooling = () =>
  leftOut("c1", "Work", {
    mechanism: "connection_cooldown",
    reason: "unavailable",
    until: inSeconds(90),
    retryAfterMs: 90_000,
    cause: { status: 429, message: "slow down", at: inSeconds(-5) },
  });
const gateway = (...part: Parameters<typeof explanation>) => ({
  ...world({ models: [model("anthropic", "claude-sonnet-4-6")] }),
  ...resilienceWorld({ explanations: [explanation(...part)] }),
});

describe("Monitoring → Explain", () => {
  it("asks for a model and keeps it in the address", async () => {
    const { user, router } = open(at, fakeHost(gateway([outlook("c2", { connectionName: "Team" })])));
    await user.click(await screen.findByRole("combobox", { name: "Model" }));
    await user.click(await screen.findByText("anthropic/claude-sonnet-4-6"));
    expect(await screen.findByText("Team at Anthropic would be asked first.")).toBeVisible();
    expect(router.state.location.search).toEqual({ model: "anthropic/claude-sonnet-4-6" });
  });

  it("says of each connection whether it would be asked, or what holds it back and until when", async () => {
    open(
      asked,
      fakeHost(
        gateway([outlook("c2", { connectionName: "Team" }), cooling(), outlook("c3", { connectionName: "Own" })]),
      ),
    );
    const [first, second, third] = within(await screen.findByRole("list", { name: "Connections" })).getAllByRole(
      "listitem",
    );
    expect(first).toHaveTextContent(/Team.*Asked first.*Available/);
    expect(third).toHaveTextContent(/Own.*Asked second, if those before fail/);
    expect(second).toHaveTextContent(
      /Work.*It failed a moment ago and rests\..*429 slow down.*Connection cooldown.*1:(31|30|29)/,
    );
  });

  it("says when the first is back where nobody is ready, and what an agent is told", async () => {
    const answer = { status: 429, code: "rate_limit_exceeded", retryAfterSeconds: 90 };
    open(asked, fakeHost(gateway([cooling()], answer)));
    expect(
      await screen.findByText(/Nobody would be asked at the moment; the first is back in \d:\d\d\./),
    ).toBeVisible();
    expect(screen.getByText(/^An agent would get 429, and be told to come back in 1:(31|30|29)\.$/)).toBeVisible();
  });

  it("says what an agent gets where no waiting helps", async () => {
    const banned = leftOut("c1", "Work", {
      mechanism: "terminal_state",
      reason: "unavailable",
      until: null,
      retryAfterMs: null,
      cause: null,
    });
    const answer = { status: 502, code: "all_connections_terminal", retryAfterSeconds: null };
    open(asked, fakeHost(gateway([banned], answer)));
    expect(await screen.findByText("An agent would get 502.")).toBeVisible();
  });

  it("says nothing of an answer while somebody is ready", async () => {
    open(asked, fakeHost(gateway([outlook("c2", { connectionName: "Team" }), cooling()])));
    expect(await screen.findByText("Team at Anthropic would be asked first.")).toBeVisible();
    expect(screen.queryByText(/An agent would get/)).toBeNull();
  });

  it("says what to do about a name that nobody offers", async () => {
    const host = fakeHost({ ...gateway([]), resilience_explain: () => refuse({ code: "not_found" }) });
    open(`${at}?model=nonsense`, host);
    expect(await screen.findByRole("heading", { name: "Nobody offers this model" })).toBeVisible();
  });

  it("is where a request's omission by a timer leads", async () => {
    const row = request("r1", { outcome: "failure", status: 503 });
    const exclusion = {
      provider: "anthropic",
      model: "claude-sonnet-4-6",
      connectionId: "c1",
      connectionName: "Work",
      mechanism: "connection_cooldown" as const,
      reason: "unavailable",
      until: inSeconds(90),
      cause: null,
    };
    const host = fakeHost({
      ...world({
        connections: [connection("c1")],
        requests: [row],
        details: [detail(row, { attempts: [], exclusions: [exclusion] })],
      }),
      ...resilienceWorld({ explanations: [explanation([cooling()])] }),
    });
    const { user, path } = open("/requests/r1", host);
    await user.click(await screen.findByRole("link", { name: "Is it still so?" }));
    await waitFor(() => expect(path()).toBe(at));
    expect(await screen.findByText("Work")).toBeVisible();
  });

  it("is accessible", async () => {
    const { container } = open(asked, fakeHost(gateway([outlook("c2", { connectionName: "Team" }), cooling()])));
    await screen.findByText("Team");
    await expectAccessible(container);
  });
});
