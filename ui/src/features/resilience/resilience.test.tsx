import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { fakeHost, refuse } from "@/test/fake-host";
import { expectAccessible, open } from "@/test/render";
import { resilienceFields, resilienceWorld } from "@/test/resilience-world";
import { world } from "@/test/world";

const at = "/settings/resilience";
const gateway = (part = {}) => ({ ...world(), ...resilienceWorld(part) });

describe("Settings → Resilience", () => {
  it("saves a length of time in the unit it is written in", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const rest = await screen.findByLabelText("First rest, API key");
    expect(rest).toHaveValue("3");
    await user.clear(rest);
    await user.type(rest, "2 min{Enter}");
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        { resilienceSettings: { connectionCooldown: { apikey: { baseCooldownMs: 120_000 } } } },
      ]),
    );
    expect(await screen.findByText("set here")).toBeVisible();
    expect(screen.getByText("Default: 3 s")).toBeVisible();
  });

  it("takes a value back to its default", async () => {
    const fields = resilienceFields.map((field) =>
      field.path.endsWith("oauth.maxBackoffSteps") ? { ...field, value: 2, source: "stored" as const } : field,
    );
    const host = fakeHost(gateway({ fields }));
    const { user } = open(at, host);
    await user.click(await screen.findByRole("button", { name: "Reset Doublings at most, Subscription" }));
    await waitFor(() => expect(screen.getByLabelText("Doublings at most, Subscription")).toHaveValue("8"));
    expect(host.calls("settings_update")).toEqual([
      { resilienceSettings: { connectionCooldown: { oauth: { maxBackoffSteps: null } } } },
    ]);
  });

  it("refuses what is out of bounds without asking the gateway", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const wait = await screen.findByLabelText("Tries again after, On this computer");
    await user.clear(wait);
    await user.type(wait, "500 ms{Enter}");
    expect(await screen.findByText("Must be between 1 s and 24 h.")).toBeVisible();
    await user.clear(wait);
    await user.type(wait, "soon{Enter}");
    expect(await screen.findByText(/Must be a length of time/)).toBeVisible();
    expect(host.calls("settings_update")).toEqual([]);
  });

  it("shows the gateway's refusal at the field it names", async () => {
    const path = "resilienceSettings.providerBreaker.apikey.degradationThreshold";
    const host = fakeHost({
      ...gateway(),
      settings_update: () => refuse({ code: "invalid_request", details: [{ field: path, message: "too high" }] }),
    });
    const { user } = open(at, host);
    const degraded = await screen.findByLabelText("Degraded after, API key");
    await user.clear(degraded);
    await user.type(degraded, "20{Enter}");
    await waitFor(() => expect(degraded).toBeInvalid());
    expect(degraded).toHaveAccessibleDescription(/Must be below the failures that stop it\./);
  });

  it("lets a switch follow the provider, or not", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const hold = await screen.findByLabelText("Rate limits hold the breaker, API key");
    expect(hold).toHaveDisplayValue("Automatic");
    await user.selectOptions(hold, "Off");
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        { resilienceSettings: { connectionCooldown: { apikey: { useUpstream429BreakerHints: false } } } },
      ]),
    );
  });

  it("lets requests wait for accounts that rest, or not", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    await user.click(await screen.findByRole("switch", { name: "Wait for accounts that rest" }));
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([{ resilienceSettings: { waitForCooldown: { enabled: false } } }]),
    );
  });

  it("paces requests: each number in its unit, with its bounds and the default", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const pause = await screen.findByLabelText("From one request to the next");
    expect(pause).toHaveValue("350");
    expect(pause).toHaveAccessibleDescription(/0 s to 1 h · Default: 350 ms/);
    await user.clear(pause);
    await user.type(pause, "2 s{Enter}");
    await user.click(screen.getByRole("switch", { name: "Pace every account with a key" }));
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        { resilienceSettings: { requestQueue: { minTimeBetweenRequestsMs: 2_000 } } },
        { resilienceSettings: { requestQueue: { autoEnableApiKeyProviders: true } } },
      ]),
    );
    await user.click(await screen.findByRole("button", { name: "Reset From one request to the next" }));
    await waitFor(() => expect(pause).toHaveValue("350"));
  });

  it("shows that the environment decides, and what it decides", async () => {
    const fields = resilienceFields.map((field) =>
      field.path.endsWith("requestQueue.maxWaitMs")
        ? { ...field, value: 45_000, environment: 45_000, source: "environment" as const }
        : field,
    );
    open(at, fakeHost(gateway({ fields })));
    expect(await screen.findByLabelText("Longest wait for a turn")).toHaveValue("45");
    expect(screen.getByTitle(/RATE_LIMIT_MAX_WAIT_MS/)).toHaveTextContent("from the environment");
  });

  it("says at both lengths that all waits of a combo cannot be shorter than one", async () => {
    const group = "resilienceSettings.comboCooldownWait";
    const details = ["budgetMs", "maxWaitMs"].map((name) => ({ field: `${group}.${name}`, message: "too short" }));
    const host = fakeHost({ ...gateway(), settings_update: () => refuse({ code: "invalid_request", details }) });
    const { user } = open(at, host);
    const budget = await screen.findByLabelText("All waits of a combo together");
    await user.clear(budget);
    await user.type(budget, "30 s{Enter}");
    await waitFor(() => expect(budget).toHaveAccessibleDescription(/Cannot be shorter than the longest wait\./));
    expect(screen.getByLabelText("Longest wait of a combo")).toHaveAccessibleDescription(
      /Cannot be longer than all waits together\./,
    );
  });

  it("keeps back a part of a window by provider, one per line, and names the line that is wrong", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    const table = await screen.findByLabelText("Kept back, by provider");
    await user.type(table, "claude/weekly = 5\ncodex = 3");
    await user.tab();
    await waitFor(() => expect(table).toBeInvalid());
    expect(table).toHaveAccessibleDescription(/Line 2: write provider\/window = percent\./);
    expect(host.calls("settings_update")).toEqual([]);
    await user.clear(table);
    await user.type(table, "claude/weekly = 5\nclaude/7d:opus = 10");
    await user.tab();
    await waitFor(() =>
      expect(host.calls("settings_update")).toEqual([
        {
          resilienceSettings: { quotaPreflight: { providerWindowDefaults: { claude: { weekly: 5, "7d:opus": 10 } } } },
        },
      ]),
    );
    await user.click(await screen.findByRole("button", { name: "Reset Kept back, by provider" }));
    await waitFor(() => expect(table).toHaveValue(""));
  });

  it("says all of it in Italian as well", async () => {
    open(at, fakeHost(gateway()), { preferences: { language: "it" } });
    expect(await screen.findByLabelText("Da una richiesta alla successiva")).toHaveValue("350");
    for (const title of ["Attesa dei combo", "Coda delle richieste", "Quote condivise", "Quota prima dell'invio"]) {
      expect(screen.getByRole("heading", { name: title })).toBeVisible();
    }
    expect(screen.queryByText(/^resilienceSettings\./)).not.toBeInTheDocument();
  });

  it("shows no setting of another screen", async () => {
    open(at, fakeHost(gateway()));
    await screen.findByLabelText("First rest, API key");
    expect(screen.queryByText("First lock")).not.toBeInTheDocument();
  });

  it("is accessible", async () => {
    const { container } = open(at, fakeHost(gateway()));
    await screen.findByLabelText("First rest, API key");
    await expectAccessible(container);
  });
});

describe("ban phrases", () => {
  it("are tried on the errors on record before they are added", async () => {
    const host = fakeHost(gateway());
    const { user } = open(at, host);
    await user.type(await screen.findByLabelText("Phrase"), "limit");
    expect(await screen.findByText("1 connection would have been banned by its last error:")).toBeVisible();
    expect(screen.getByText("your monthly limit is reached")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Add phrase" }));
    expect(host.calls("settings_update")).toEqual([{ customBannedSignals: ["limit"] }]);
    expect(await screen.findByRole("button", { name: "Remove “limit”" })).toBeVisible();
  });

  it("are added once and taken off again", async () => {
    const fields = resilienceFields.map((field) =>
      field.path === "customBannedSignals" ? { ...field, value: ["closed"], source: "stored" as const } : field,
    );
    const host = fakeHost(gateway({ fields }));
    const { user } = open(at, host, { preferences: { language: "it" } });
    await user.type(await screen.findByLabelText("Frase"), "Closed");
    expect(await screen.findByText("È già nell'elenco.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Aggiungi frase" })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Togli «closed»" }));
    expect(host.calls("settings_update")).toEqual([{ customBannedSignals: null }]);
  });

  it("come with what a broad one costs", async () => {
    open(at, fakeHost(gateway()));
    const bans = within(
      (await screen.findByRole("heading", { name: "Banned accounts" })).closest("section") as Element as HTMLElement,
    );
    expect(bans.getByText(/can take healthy accounts out for good/)).toBeVisible();
  });
});
