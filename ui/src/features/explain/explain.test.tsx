import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { candidate, explanation, inSeconds, resilienceWorld } from "@/test/resilience-world";
import { connection, detail, model, request, world } from "@/test/world";

const at = "/monitoring/explain";
const asked = `${at}?model=anthropic%2Fclaude-sonnet-4-6`;
const cooling = () =>
  candidate("c1", {
    connectionName: "Work",
    available: false,
    mechanism: "connection_cooldown",
    reason: "unavailable",
    until: inSeconds(90),
    remainingMs: 90_000,
    cause: { status: 429, message: "slow down", at: inSeconds(-5) },
  });
const gateway = (...candidates: ReturnType<typeof candidate>[]) => ({
  ...world({ models: [model("anthropic", "claude-sonnet-4-6")] }),
  ...resilienceWorld({ explanations: [explanation(candidates)] }),
});

describe("Monitoring → Explain", () => {
  it("asks for a model and keeps it in the address", async () => {
    const { user, router } = open(at, fakeHost(gateway(candidate("c2", { connectionName: "Team" }))));
    await user.click(await screen.findByRole("combobox", { name: "Model" }));
    await user.click(await screen.findByText("anthropic/claude-sonnet-4-6"));
    expect(await screen.findByText("Team at Anthropic would be asked first.")).toBeVisible();
    expect(router.state.location.search).toEqual({ model: "anthropic/claude-sonnet-4-6" });
  });

  it("says of each connection whether it would be asked, or what holds it back and until when", async () => {
    open(
      asked,
      fakeHost(
        gateway(candidate("c2", { connectionName: "Team" }), candidate("c3", { connectionName: "Own" }), cooling()),
      ),
    );
    const [first, second, third] = within(await screen.findByRole("list", { name: "Connections" })).getAllByRole(
      "listitem",
    );
    expect(first).toHaveTextContent(/Team.*Asked first.*Available/);
    expect(second).toHaveTextContent(/Own.*Asked second, if those before fail/);
    expect(third).toHaveTextContent(
      /Work.*It failed a moment ago and rests\..*429 slow down.*Connection cooldown.*\d:\d\d/,
    );
  });

  it("says when the first is back where nobody is ready", async () => {
    open(asked, fakeHost(gateway(cooling())));
    expect(
      await screen.findByText(/Nobody would be asked at the moment; the first is back in \d:\d\d\./),
    ).toBeVisible();
  });

  it("says what to do about a name that nobody offers", async () => {
    const host = fakeHost({ ...gateway(), resilience_explain: () => refuse({ code: "not_found" }) });
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
    const { container } = open(asked, fakeHost(gateway(candidate("c2", { connectionName: "Team" }), cooling())));
    await screen.findByText("Team");
    await expectAccessible(container);
  });
});
