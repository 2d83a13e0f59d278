import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { resilienceFields } from "@/test/resilience-world";
import { connection, world } from "@/test/world";

describe("adding a connection", () => {
  it("tests first and saves only what passed", async () => {
    const host = fakeHost(world());
    const { user, path } = open("/providers/anthropic/add", host);
    await user.type(await screen.findByLabelText("API key"), " sk-ant-1 ");
    await user.click(screen.getByRole("button", { name: "Test and save" }));
    await waitFor(() => expect(path()).toBe("/providers/anthropic"));
    const input = { provider: "anthropic", name: "Anthropic", apiKey: "sk-ant-1" };
    expect(host.calls("connection_validate")).toEqual([input]);
    expect(host.calls("connection_create")).toEqual([input]);
  });

  it("names what went wrong and lets the person save all the same", async () => {
    const host = fakeHost({
      ...world(),
      connection_validate: () => ({
        ok: false,
        status: 401,
        latencyMs: 210,
        error: { code: "unauthorized", message: "invalid x-api-key" },
      }),
    });
    const { user } = open("/providers/anthropic/add", host, { preferences: { language: "it" } });
    await user.type(await screen.findByLabelText("Chiave API"), "sk-ant-1");
    await user.click(screen.getByRole("button", { name: "Prova e salva" }));
    expect(await screen.findByText("La chiave non è stata accettata")).toBeVisible();
    expect(screen.getByText(/invalid x-api-key/)).toBeVisible();
    expect(host.calls("connection_create")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Salva anche se non passa" }));
    await waitFor(() => expect(host.calls("connection_create")).toHaveLength(1));
  });

  it("a local server needs no key", async () => {
    const host = fakeHost(world());
    const { user } = open("/providers/ollama/add", host);
    await user.click(await screen.findByRole("button", { name: "Test and save" }));
    await waitFor(() => expect(host.calls("connection_create")).toEqual([{ provider: "ollama", name: "Ollama" }]));
  });

  it("puts a refused address beside its field", async () => {
    const host = fakeHost({
      ...world(),
      connection_validate: () =>
        refuse({
          code: "invalid_request",
          details: [{ field: "providerSpecificData.baseUrl", message: "169.254.0.1 is never allowed" }],
        }),
    });
    const { user } = open("/providers/ollama/add", host);
    const field = await screen.findByLabelText(/Base URL/);
    await user.type(field, "http://169.254.0.1/v1");
    await user.click(screen.getByRole("button", { name: "Test and save" }));
    await waitFor(() => expect(field).toHaveAccessibleDescription("169.254.0.1 is never allowed"));
    expect(field).toBeInvalid();
  });
});

const queueSettings = { settings_fields: () => ({ fields: [...resilienceFields] }) };

describe("a connection's panel", () => {
  it("leads from a refused key to the place for another one", async () => {
    const refused = connection("c1", { name: "Work", testStatus: "expired", lastError: "invalid api key" });
    const { user } = open("/providers/anthropic/connections/c1", fakeHost(world({ connections: [refused] })));
    const trouble = await screen.findByRole("region", { name: "Why it is left out" });
    await user.click(within(trouble).getByRole("button", { name: "Replace key" }));
    await waitFor(() => expect(screen.getByLabelText("New key")).toHaveFocus());
  });

  it("says in a few words what somebody else said in many, and the rest when asked", async () => {
    const many = "the cluster is out of breath ".repeat(70).trim();
    const failing = connection("c1", { name: "Work", testStatus: "unavailable", lastError: many });
    const { user } = open("/providers/anthropic/connections/c1", fakeHost(world({ connections: [failing] })));
    const more = await screen.findByRole("button", { name: "Show all of it" });
    expect(screen.getByText(many)).toHaveClass("line-clamp-4");
    await user.click(more);
    expect(screen.getByText(many)).not.toHaveClass("line-clamp-4");
    expect(screen.getByRole("button", { name: "Show less" })).toHaveAttribute("aria-expanded", "true");
  });

  it("says that it is gone, with the way back", async () => {
    const host = fakeHost({ ...world(), connection_get: () => refuse({ code: "not_found" }) });
    const { user, path } = open("/providers/anthropic/connections/nobody", host);
    expect(await screen.findByRole("heading", { name: "This connection no longer exists" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "All connections" }));
    await waitFor(() => expect(path()).toBe("/providers/anthropic"));
  });

  const cooling = connection("c1", {
    name: "Work",
    testStatus: "unavailable",
    rateLimitedUntil: new Date(Date.now() + 162_000).toISOString(),
    lastError: "429 rate limit",
  });
  const at = "/providers/anthropic/connections/c1";

  it("says why it is left out and until when", async () => {
    open(at, fakeHost(world({ connections: [cooling] })));
    const why = await screen.findByRole("region", { name: "Why it is left out" });
    expect(why).toHaveTextContent(/Reason\s*It failed a moment ago and rests\.\s*429 rate limit/);
    expect(why).toHaveTextContent(/\(2:\d\d\)/);
  });

  it("tells its rests, its last error and what of the provider holds it back, each with the way out", async () => {
    const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
    const failed = {
      ...cooling,
      backoffLevel: 3,
      errorCode: 429,
      lastErrorType: "rate_limited",
      lastErrorAt: inMs(-9_000),
    };
    const host = fakeHost({
      ...world({ connections: [cooling] }),
      connection_get: () => ({
        connection: failed,
        lockouts: [
          { model: "opus", reason: "quota_exhausted", scope: "model", remainingMs: 90_000, expiresAt: inMs(90_000) },
          { model: "gone", reason: "rate_limit", scope: "model", remainingMs: 0, expiresAt: inMs(-1) },
        ],
        breaker: { state: "OPEN", failureCount: 12, retryAfterMs: 20_000 },
        inFlight: 0,
      }),
      breaker_reset: () => ({ ok: true, resetCount: 1, lockoutsCleared: 0, message: "" }),
      model_cooldowns_clear: () => ({ ok: true, removed: 1, clearedAll: false }),
      connection_reset: () => ({ connection: failed }),
    });
    const { user } = open(at, host);
    const health = within(await screen.findByRole("region", { name: "Health" }));
    expect(health.getByText("Last error").nextSibling).toHaveTextContent(/^Rate limit · /);
    expect(health.getByText("Backoff level").nextSibling).toHaveTextContent("3");
    expect(health.queryByText("gone")).not.toBeInTheDocument();
    expect(health.getByRole("region", { name: "Why it is left out: Anthropic" })).toHaveTextContent(/\(0:\d\d\)/);
    await user.click(health.getByRole("button", { name: "Reset breaker" }));
    await user.click(health.getByRole("button", { name: "Re-enable opus on Work" }));
    await user.click(health.getByRole("button", { name: "Clear cooldown" }));
    expect(host.calls("breaker_reset")).toEqual([{ id: "anthropic" }]);
    expect(host.calls("model_cooldowns_clear")).toEqual([{ provider: "anthropic", connection: "c1", model: "opus" }]);
    expect(host.calls("connection_reset")).toEqual([{ id: "c1" }]);
  });

  it("saves a name when it is left, and nothing while it is typed", async () => {
    const host = fakeHost(world({ connections: [connection("c1", { name: "Work" })] }));
    const { user } = open(at, host);
    const name = await screen.findByLabelText("Name");
    await user.clear(name);
    await user.type(name, "Team");
    expect(host.calls("connection_update")).toEqual([]);
    await user.tab();
    await waitFor(() => expect(host.calls("connection_update")).toEqual([{ id: "c1", name: "Team" }]));
    expect(await screen.findByRole("heading", { name: "Team" })).toBeVisible();
  });

  it("is paced when asked to, with the queue's numbers shown where it has none of its own", async () => {
    const host = fakeHost({ ...world({ connections: [connection("c1")] }), ...queueSettings });
    const { user } = open(at, host);
    const perMinute = await screen.findByLabelText("Within a minute");
    expect(perMinute).toHaveAttribute("placeholder", "");
    await waitFor(() => expect(screen.getByLabelText("Longest wait for a turn")).toHaveAttribute("placeholder", "30"));
    await user.click(screen.getByRole("switch", { name: "Rate-limit protection" }));
    await waitFor(() => expect(perMinute).toHaveAttribute("placeholder", "60"));
    expect(host.calls("connection_update")).toEqual([{ id: "c1", rateLimitProtection: true }]);
  });

  it("takes numbers of its own, each alone, and gives them up again", async () => {
    const host = fakeHost({ ...world({ connections: [connection("c1")] }), ...queueSettings });
    const { user } = open(at, host);
    await user.type(await screen.findByLabelText("Within a minute"), "10{Enter}");
    await waitFor(() => expect(host.calls("connection_update")).toHaveLength(1));
    await user.type(screen.getByLabelText("Longest wait for a turn"), "2 min{Enter}");
    await waitFor(() => expect(host.calls("connection_update")).toHaveLength(2));
    await user.clear(screen.getByLabelText("Within a minute"));
    await user.tab();
    await waitFor(() =>
      expect(host.calls("connection_update")).toEqual([
        { id: "c1", rateLimitOverrides: { rpm: 10 } },
        { id: "c1", rateLimitOverrides: { maxWaitMs: 120_000 } },
        { id: "c1", rateLimitOverrides: { rpm: null } },
      ]),
    );
  });

  it("shows a refused number beside its field, whoever refused it", async () => {
    const details = [{ field: "rateLimitOverrides.tpd", message: "must be from 1" }];
    const host = fakeHost({
      ...world({ connections: [connection("c1")] }),
      connection_update: () => refuse({ code: "invalid_request", details }),
    });
    const { user } = open(at, host);
    const perMinute = await screen.findByLabelText("Within a minute");
    await user.type(perMinute, "0{Enter}");
    expect(await screen.findByText("Must be between 1 and 1,000,000.")).toBeVisible();
    expect(perMinute).toBeInvalid();
    expect(host.calls("connection_update")).toEqual([]);
    const perDay = screen.getByLabelText("Tokens within a day");
    await user.type(perDay, "5{Enter}");
    await waitFor(() => expect(perDay).toHaveAccessibleDescription("must be from 1"));
  });

  // QS-17
  it("caps models by name, one per line, and names the line that is wrong", async () => {
    const host = fakeHost(world({ connections: [connection("c1")] }));
    const { user } = open(at, host);
    const caps = await screen.findByLabelText("At the same time, by model");
    await user.type(caps, "glm-5 = 1\nglm-4.7 = 0");
    await user.tab();
    await waitFor(() => expect(caps).toBeInvalid());
    expect(caps).toHaveAccessibleDescription("Line 2: must be a whole number from 1 to 10,000.");
    expect(host.calls("connection_update")).toEqual([]);
    await user.type(caps, "{Backspace}3");
    await user.tab();
    await waitFor(() =>
      expect(host.calls("connection_update")).toEqual([
        { id: "c1", rateLimitOverrides: { modelConcurrency: { "glm-5": 1, "glm-4.7": 3 } } },
      ]),
    );
    expect(caps).toHaveValue("glm-5 = 1\nglm-4.7 = 3");
  });

  it("deletes at once, and undo brings it back", async () => {
    const host = fakeHost(world({ connections: [connection("c1", { name: "Work" })] }));
    const { user, path } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Delete connection" }));
    await screen.findByText("Work was deleted");
    expect(path()).toBe("/providers/anthropic");
    await user.click(screen.getByRole("button", { name: "Undo" }));
    await screen.findByText("Work is back");
    expect(within(await screen.findByRole("grid")).getByText("Work")).toBeVisible();
  });

  it("closes with Escape", async () => {
    const { user, path } = open(at, fakeHost(world({ connections: [cooling] })));
    await screen.findByRole("complementary", { name: "Work" });
    await user.keyboard("{Escape}");
    await waitFor(() => expect(path()).toBe("/providers/anthropic"));
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(world({ connections: [cooling] })));
    await screen.findByRole("complementary", { name: "Work" });
    await expectAccessible(container);
  });

  it("says after a failed test that it failed, not how traffic went before", async () => {
    const c1 = connection("c1", { name: "Work" });
    const error = { code: "unauthorized", message: "no such key" };
    const host = fakeHost({
      ...world({ connections: [c1] }),
      connection_test: () => ({ ok: false, status: 401, latencyMs: 90, model: null, error, connection: c1 }),
    });
    const { user } = open("/providers/anthropic/connections/c1", host);
    const panel = await screen.findByRole("complementary", { name: "Work" });
    expect(within(panel).getByText("Ready")).toBeVisible();
    await user.click(within(panel).getByRole("button", { name: "Test connection" }));
    expect(await within(panel).findByText("Last test failed")).toBeVisible();
    expect(within(panel).queryByText("Ready")).toBeNull();
  });
});
