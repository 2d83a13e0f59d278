import { act, screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fakeHost } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { breaker, inSeconds, quiet, resilienceWorld } from "@/test/resilience-world";
import { connection, underway, world } from "@/test/world";

const at = "/monitoring/health";
const gateway = (part = {}) => ({ ...world(), ...resilienceWorld(part) });
const openAi = () =>
  breaker("openai", {
    providerName: "OpenAI",
    state: "OPEN",
    failureCount: 12,
    retryAfterMs: 30_000,
    lastFailure: inSeconds(-5),
    transitions: [
      {
        from: "CLOSED",
        to: "DEGRADED",
        timestamp: inSeconds(-600),
        failureCount: 7,
        reason: "elevated-failures (7/12)",
      },
      { from: "DEGRADED", to: "OPEN", timestamp: inSeconds(-5), failureCount: 12, reason: "kind:server_error" },
    ],
  });
const ollama = () => breaker("ollama", { providerName: "Ollama" });

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("Monitoring → Health", () => {
  it("says in one sentence who is stopped, and puts it first", async () => {
    open(at, fakeHost(gateway({ breakers: [ollama(), openAi()] })));
    expect(await screen.findByText("OpenAI is stopped.")).toBeVisible();
    const [, first] = within(screen.getByRole("grid")).getAllByRole("row");
    expect(first).toHaveTextContent(/OpenAI.*Stopped.*12 of 12.*0:\d\d/);
  });

  it("says that all is well", async () => {
    open(at, fakeHost(gateway({ breakers: [ollama()] })));
    expect(await screen.findByText("The one provider in use works.")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Reset all" })).not.toBeInTheDocument();
  });

  it("shows the next try when the wait is over, without being told", async () => {
    open(at, fakeHost(gateway({ breakers: [openAi()] })));
    await screen.findByText("Stopped");
    const clock = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => clock() + 31_000);
    await waitFor(() => expect(screen.getByText("with the next request")).toBeVisible(), { timeout: 4_000 });
  });

  it("draws the last hour in words too", async () => {
    open(at, fakeHost(gateway({ breakers: [openAi()] })));
    const ribbon = await screen.findByRole("img", { name: /OpenAI in the last hour/ });
    expect(ribbon).toHaveAccessibleName(/Working .* Degraded .* Stopped/);
  });

  it("resets one", async () => {
    const host = fakeHost(gateway({ breakers: [ollama(), openAi()] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Reset the breaker of OpenAI" }));
    expect(await screen.findByText("2 providers are in use, and all of them work.")).toBeVisible();
    expect(host.calls("breaker_reset")).toEqual([{ id: "openai" }]);
  });

  it("resets all after asking", async () => {
    const host = fakeHost(gateway({ breakers: [ollama(), openAi()] }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Reset all" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Reset all" }));
    expect(await screen.findByText("2 providers are in use, and all of them work.")).toBeVisible();
    expect(host.calls("resilience_reset")).toHaveLength(1);
  });

  it("tells what happened to a provider, the latest first", async () => {
    open(`${at}/openai`, fakeHost(gateway({ breakers: [openAi()] })));
    const panel = await screen.findByRole("complementary", { name: "OpenAI" });
    const [latest, before] = await within(panel).findAllByRole("listitem");
    expect(latest).toHaveTextContent(/Stopped.*Too many failures · 12 failures/);
    expect(before).toHaveTextContent(/Degraded.*Failures added up · 7 failures/);
  });

  it("shows the facts of the gateway", async () => {
    const connections = [
      connection("c1"),
      connection("c2", { testStatus: "credits_exhausted" }),
      connection("c3", { isActive: false }),
    ];
    open(at, fakeHost({ ...gateway(), ...world({ connections }) }));
    expect(await screen.findByText("2 h 5 min")).toBeVisible();
    expect(await screen.findByText("1 of 3 ready · 1 needs attention · 1 off")).toBeVisible();
    expect(await screen.findByRole("heading", { name: "No provider has been asked yet" })).toBeVisible();
  });

  it("draws outcomes and waiting times of the last hour, and says them", async () => {
    const stretch = { aborted: 0, p50Ms: 1_200, p95Ms: 4_000, firstTokenP50Ms: 400, firstTokenP95Ms: 900 };
    const stretches = [
      { ...stretch, at: quiet.since, successes: 30, failures: 0 },
      { ...stretch, at: inSeconds(-3_480), successes: 60, failures: 10 },
    ];
    open(at, fakeHost({ ...gateway(), health_history: () => ({ ...quiet, stretches }) }));
    expect(await screen.findByText("error rate 10%")).toBeVisible();
    expect(
      screen.getByRole("img", { name: "Requests of the last hour: 90 answered, 10 failed, an error rate of 10%" }),
    ).toBeVisible();
    expect(screen.getByRole("img", { name: /^First token of the last hour.*half within 400 ms/ })).toBeVisible();
  });

  it("adds the last hour up anew only now and then, however many requests come in", async () => {
    const host = fakeHost(gateway());
    open(at, host);
    await screen.findByText("No request in the last hour.");
    vi.useFakeTimers();
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 1) {
        host.announce("usage");
        await act(() => vi.advanceTimersByTimeAsync(1_000));
      }
    };
    await pass(19);
    expect(host.calls("health_history")).toHaveLength(1);
    await pass(30);
    expect(host.calls("health_history")).toHaveLength(3);
  });

  it("says that nothing happened, instead of drawing it", async () => {
    open(at, fakeHost(gateway()));
    expect(await screen.findByText("No request in the last hour.")).toBeVisible();
    expect(screen.getByText("Nothing is on its way.")).toBeVisible();
  });

  it("shows what is on its way, and the queue of an account", async () => {
    const host = fakeHost(gateway());
    const { container } = open(at, host);
    await screen.findByText("Nothing is on its way.");
    const now = Date.now();
    const [arrived, since] = [new Date(now - 20_000).toISOString(), new Date(now - 12_000).toISOString()];
    const rows = [
      underway("r1", { timestamp: arrived, since: arrived }),
      underway("r2", { timestamp: arrived, since, stage: "waits_for_place" }),
    ];
    act(() => host.flow({ inFlight: 2, queued: 1, underway: rows }));
    expect(screen.getByText("2 requests on the way, 1 waiting for a place.")).toBeVisible();
    expect(screen.getByRole("list", { name: "By connection" })).toHaveTextContent("Work 1 running, 1 waiting");
    const [, asked, waiting] = within(screen.getByRole("grid", { name: "In flight" })).getAllByRole("row");
    expect(waiting).toHaveTextContent(/Waiting for a place1[12] s$/);
    // What it has done ever since it arrived, its age says already.
    expect(asked).toHaveTextContent(/Waiting for the answer$/);
    await expectAccessible(container);
  });

  it("is accessible", async () => {
    const { container } = open(`${at}/openai`, fakeHost(gateway({ breakers: [ollama(), openAi()] })));
    await screen.findByRole("complementary", { name: "OpenAI" });
    await expectAccessible(container);
  });
});
