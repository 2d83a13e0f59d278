/** What accounts may be given and what is left of them: set in the window, held by the gateway, shown as it stands. */
import assert from "node:assert/strict";
import { askAsClaudeCode, askAsOpenAiTool } from "../support/agent.mjs";
import { HeldProvider } from "../support/held-provider.mjs";
import { eventually } from "../support/wait.mjs";

/**
 * @typedef {import("./stage.mjs").World} World
 * @typedef {import("./stage.mjs").Page} Page
 */

const settled = { onboarded: true };
const ANSWER = "Hello from the held provider";

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function limits(checks, stage) {
  await checks.check("quota windows, their plot and a pool show what the provider announced", (folder) =>
    stage.play(folder, settled, (world) =>
      withProvider(async (provider) => {
        const { page, gateway } = world;
        const account = await gateway.connect("anthropic", "Private", { apiKey: "k", baseUrl: provider.baseUrl });
        const ask = { url: gateway.url, key: await gateway.makeKey("Laptop"), model: "anthropic/m1" };
        await page.goto("/monitoring/quota");
        await page.getByText("their replies have announced nothing so far.").waitFor();

        provider.announce(quotaOf({ session: "0.91", week: "0.4" }));
        assert.equal(await askAsClaudeCode(ask), ANSWER);
        // The screen is told, and reads again.
        const bar = (/** @type {string} */ name) => page.getByRole("meter", { name });
        await bar("5 hours of Private").waitFor();
        assert.equal(await bar("5 hours of Private").getAttribute("aria-valuetext"), "91% used");
        assert.equal(await bar("Week of Private").getAttribute("aria-valuetext"), "40% used");
        await page.getByText("Running low").waitFor();
        await page.getByText(/^Announced by its replies/).waitFor();
        await page.getByText(/^resets /).waitFor();

        await page.getByRole("button", { name: "History" }).click();
        await page.getByRole("img", { name: /5 hours of Private since .*between 91% and 91% used, 91% now/ }).waitFor();

        const [{ id: apiKeyId }] = (await gateway.call("GET", "/keys")).keys;
        await gateway.call("POST", "/quota/pools", {
          name: "Team",
          connections: [account.id],
          dimensions: [{ unit: "requests", window: "hourly", limit: 4 }],
          allocations: [{ apiKeyId, weight: 1, policy: "soft" }],
        });
        assert.equal(await askAsClaudeCode({ ...ask, model: "qtSd/team/anthropic/m1" }), ANSWER);
        await page.goto("/monitoring/quota/pools");
        await page.getByRole("heading", { name: "Team" }).waitFor();
        const used = page.getByRole("meter", { name: "Requests, 1 hour: Team" });
        await used.waitFor();
        assert.equal(await used.getAttribute("aria-valuetext"), "1 of 4 requests");
        await page.getByRole("meter", { name: "Requests, 1 hour: Laptop" }).waitFor();
      }),
    ),
  );

  await checks.check("a connection's limit of simultaneous requests lets the second one wait", (folder) =>
    stage.play(folder, settled, (world) =>
      withProvider(async (provider) => {
        const { page, gateway } = world;
        const { id } = await gateway.connect("openai", "Company", { apiKey: "k", baseUrl: provider.baseUrl });
        const ask = { url: gateway.url, key: await gateway.makeKey("Laptop"), model: "openai/m1" };
        await saveLimit(page, id, "Requests at the same time", "1");
        await eventually("the limit is stored", async () => (await connection(gateway, id)).maxConcurrent === 1);

        provider.hold();
        const first = askAsOpenAiTool(ask);
        await eventually("the first request is under way", () => provider.waiting === 1);
        const second = askAsOpenAiTool(ask);
        await page.goto("/monitoring/health");
        await page.getByText(/^Waiting for a place|^Waits until/).waitFor();
        assert.equal(provider.calls, 1, "the second was not sent");

        provider.letOneGo();
        assert.equal(await first, ANSWER);
        await eventually("now the second is sent", () => provider.calls === 2);
        provider.letOneGo();
        assert.equal(await second, ANSWER);

        // Without the limit both are sent at once.
        await saveLimit(page, id, "Requests at the same time", "");
        await eventually("the limit is gone", async () => (await connection(gateway, id)).maxConcurrent === null);
        const both = [askAsOpenAiTool(ask), askAsOpenAiTool(ask)];
        await eventually("both are under way", () => provider.waiting === 2);
        provider.letOneGo();
        provider.letOneGo();
        assert.deepEqual(await Promise.all(both), [ANSWER, ANSWER]);
      }),
    ),
  );

  await checks.check("a connection's own pace spaces its requests", (folder) =>
    stage.play(folder, settled, (world) =>
      withProvider(async (provider) => {
        const { page, gateway } = world;
        const { id } = await gateway.connect("openai", "Company", { apiKey: "k", baseUrl: provider.baseUrl });
        const ask = { url: gateway.url, key: await gateway.makeKey("Laptop"), model: "openai/m1" };
        await saveLimit(page, id, "From one to the next", "700 ms");
        await eventually("the pace is stored", async () => {
          const { rateLimitOverrides } = await connection(gateway, id);
          return rateLimitOverrides.minTime === 700;
        });
        const begun = Date.now();
        for (let n = 0; n < 3; n += 1) assert.equal(await askAsOpenAiTool(ask), ANSWER);
        assert.ok(Date.now() - begun >= 1_400, `three requests took ${Date.now() - begun} ms`);
      }),
    ),
  );

  await checks.check("every group of the resilience settings is saved, and read back", (folder) =>
    stage.play(folder, settled, async ({ page, gateway }) => {
      const field = async (/** @type {string} */ path) => {
        const { fields } = await gateway.call("GET", "/settings/fields");
        return fields.find((/** @type {any} */ found) => found.path === path);
      };
      await page.goto("/settings/resilience");
      for (const { label, typed, path, value } of numbers) {
        const control = page.getByLabel(label, { exact: true });
        await control.fill(typed);
        await control.press("Enter");
        await eventually(`${path} is stored`, async () => (await field(path)).value === value);
      }
      for (const { label, path } of switches) {
        const before = (await field(path)).value;
        await page.getByRole("switch", { name: label, exact: true }).click();
        await eventually(`${path} is stored`, async () => (await field(path)).value === !before);
      }
      await page.getByLabel("Kept back, by provider").fill("claude/weekly = 5");
      await page.getByLabel("Kept back, by provider").blur();
      const thresholds = "resilienceSettings.quotaPreflight.providerWindowDefaults";
      await eventually("thresholds are stored", async () => (await field(thresholds)).value.claude?.weekly === 5);
      await page.getByLabel("Phrase", { exact: true }).fill("account has been closed");
      await page.getByRole("button", { name: "Add phrase" }).click();
      await eventually("the phrase is stored", async () => (await field("customBannedSignals")).value.length === 1);

      await page.reload();
      for (const { label, shown } of numbers) {
        const control = page.getByLabel(label, { exact: true });
        await control.waitFor();
        assert.equal(await control.inputValue(), shown, label);
      }
      for (const { label, path } of switches) {
        const isOn = await page.getByRole("switch", { name: label, exact: true }).isChecked();
        assert.equal(isOn, (await field(path)).value, label);
      }
      await page.getByText("account has been closed").waitFor();

      // And back: what was set here follows the default again.
      await page.getByRole("button", { name: "Reset Waits at most", exact: true }).click();
      const waits = "resilienceSettings.waitForCooldown.maxRetries";
      await eventually("it is the default", async () => (await field(waits)).source === "default");
    }),
  );
}

/** One number of each group: how it is called, typed, kept and shown. */
const numbers = [
  ["First rest, Subscription", "9 s", "connectionCooldown.oauth.baseCooldownMs", 9_000, "9"],
  ["Stops after, API key", "20", "providerBreaker.apikey.failureThreshold", 20, "20"],
  ["Waits at most", "3", "waitForCooldown.maxRetries", 3, "3"],
  ["Longest wait of a combo", "40 s", "comboCooldownWait.maxWaitMs", 40_000, "40"],
  ["Waiting at most", "7", "requestQueue.maxQueueDepth", 7, "7"],
  ["Kept back", "4", "quotaPreflight.defaultThresholdPercent", 4, "4"],
  ["Trying credentials", "90", "credentialHealthCheck.intervalMinutes", 90, "90"],
  ["Counted over", "20 s", "streamRecovery.throughputWatchdog.windowMs", 20_000, "20"],
  ["Longest rest of an account", "8 min", "providerCooldown.maxRetryCooldownMs", 480_000, "8"],
  ["Rests for, On this computer", "50 s", "providerCooldown.local.cooldownMs", 50_000, "50"],
].map(([label, typed, path, value, shown]) => ({
  label: String(label),
  typed: String(typed),
  path: `resilienceSettings.${path}`,
  value,
  shown,
}));

const switches = [
  { label: "Keep to each connection's limit", path: "resilienceSettings.quotaShareConcurrencyLimit.enabled" },
  { label: "Rest an account whose stream stalls", path: "resilienceSettings.streamStallCooldown.enabled" },
  { label: "Give up slow streams", path: "resilienceSettings.streamRecovery.throughputWatchdog.enabled" },
  { label: "Skip what has just failed", path: "resilienceSettings.providerCooldown.enabled" },
  { label: "Switch banned accounts off", path: "autoDisableBannedAccounts" },
];

/** @param {(provider: HeldProvider) => Promise<void>} use */
async function withProvider(use) {
  const provider = await HeldProvider.start();
  try {
    await use(provider);
  } finally {
    await provider.stop();
  }
}

/**
 * Used shares of Anthropic's two windows, as its replies announce them; the short one begins anew within the hour.
 *
 * @param {{ session: string, week: string }} used
 */
function quotaOf({ session, week }) {
  return {
    "anthropic-ratelimit-unified-status": "allowed",
    "anthropic-ratelimit-unified-5h-utilization": session,
    "anthropic-ratelimit-unified-5h-reset": String(Math.floor(Date.now() / 1_000) + 3_000),
    "anthropic-ratelimit-unified-7d-utilization": week,
  };
}

/**
 * @param {World["gateway"]} gateway
 * @param {string} id
 */
async function connection(gateway, id) {
  return (await gateway.call("GET", `/providers/${id}`)).connection;
}

/**
 * @param {Page} page
 * @param {string} id of the connection
 * @param {string} label
 * @param {string} value
 */
async function saveLimit(page, id, label, value) {
  await page.goto(`/providers/openai/connections/${id}`);
  const field = page.getByRole("complementary").getByLabel(label, { exact: true });
  await field.fill(value);
  await field.press("Enter");
}
