/** Every screen there is, in a world with something of everything in it. */
import assert from "node:assert/strict";
import { askAsClaudeCode, askAsOpenAiTool } from "../support/agent.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";

/**
 * @typedef {import("./stage.mjs").World} World
 * @typedef {import("./stage.mjs").Page} Page
 * @typedef {{ name: string, path: string }} Screen
 */

const LONG_NAME = "The connection of the third floor's shared account that nobody has dared to rename since 2021";

/**
 * Fills a world, and names every screen to look at.
 *
 * @param {World} world
 * @returns {Promise<Screen[]>}
 */
export async function furnish({ gateway, upstream }) {
  const baseUrl = upstream.baseUrl("openai");
  const company = await gateway.connect("openai", "Company", { apiKey: PROVIDER_KEY, baseUrl });
  const expired = await gateway.connect("openai", LONG_NAME, { apiKey: "sk-a-wrong-key", baseUrl });
  const spare = await gateway.connect("openai", "Spare", { apiKey: PROVIDER_KEY, baseUrl });
  const claude = await gateway.connect("anthropic", "Private", {
    apiKey: PROVIDER_KEY,
    baseUrl: upstream.baseUrl("anthropic"),
  });
  await gateway.connect("ollama", "This computer", {});
  await gateway.call("PATCH", `/providers/${spare.id}`, { isActive: false });
  await gateway.call("POST", `/providers/${expired.id}/test`);
  const { node } = await gateway.call("POST", "/provider-nodes", {
    name: "Workshop",
    prefix: "workshop",
    type: "openai-compatible",
    apiType: "chat",
    baseUrl,
  });
  const { id: aliasId } = (await gateway.call("POST", "/models/aliases", { alias: "best", target: "openai/m1" })).alias;

  const [comboId, weightedId, autoId] = await furnishCombos(gateway);

  await gateway.answerAtOnce();
  const key = await gateway.makeKey("Local agents");
  const [{ id: keyId }] = (await gateway.call("GET", "/keys")).keys;
  const ask = { url: gateway.url, key };
  await askAsOpenAiTool({ ...ask, model: "openai/m1" });
  await askAsOpenAiTool({ ...ask, model: "best" });
  const poolId = await furnishPools(gateway, [company.id, expired.id], keyId);
  await askAsOpenAiTool({ ...ask, model: "qtSd/team/openai/m1" });
  await askAsClaudeCode({ ...ask, model: "anthropic/m-reason" });
  await assert.rejects(askAsOpenAiTool({ ...ask, model: "openai/m-500" }));
  await assert.rejects(askAsClaudeCode({ ...ask, model: "openai/no-such-model" }));
  const { requests } = await gateway.call("GET", "/requests?limit=10");
  await gateway.call("PATCH", "/settings", {
    routing: { accountStrategy: { openai: "weighted" } },
    providerOverrides: { openai: { maxRetries: 3, fusion: { minPanel: 3 } } },
    providerErrorRules: {
      openai: [
        { status: 400, match: "daily cap reached", scope: "connection", cooldownMs: 21_600_000 },
        { status: 500, match: LONG_NAME, scope: "model", reason: "model_capacity", cooldownMs: 600_000 },
        { status: 403, match: "no such plan", scope: "connection", reason: "forbidden" },
      ],
      groq: [{ status: 498, match: "flex tier", scope: "model", reason: "model_capacity", cooldownMs: 90_000 }],
    },
  });
  await gateway.call("PUT", "/settings/feature-flags/OMNIROUTE_EMERGENCY_FALLBACK", { value: true });
  const of = (/** @type {string} */ outcome) => requests.find((/** @type {any} */ row) => row.outcome === outcome).id;

  return [
    { name: "home", path: "/home" },
    { name: "setup-provider", path: "/setup" },
    { name: "setup-key", path: "/setup?provider=anthropic" },
    { name: "setup-custom", path: "/setup?provider=custom" },
    { name: "setup-agent", path: `/setup?provider=anthropic&connection=${claude.id}` },
    { name: "setup-request", path: `/setup?provider=anthropic&connection=${claude.id}&step=request` },
    { name: "requests", path: "/requests" },
    { name: "requests-of-combo", path: "/requests?combo=team" },
    { name: "requests-none-found", path: "/requests?text=nothing-of-this-name" },
    { name: "request-answered", path: `/requests/${of("success")}` },
    { name: "request-failed", path: `/requests/${of("failure")}` },
    { name: "usage", path: "/usage" },
    { name: "usage-of-combos", path: "/usage?by=combo&measure=requests" },
    { name: "providers", path: "/providers" },
    { name: "providers-add", path: "/providers/add" },
    { name: "provider", path: "/providers/openai" },
    { name: "provider-empty", path: "/providers/groq" },
    { name: "provider-combos", path: "/providers/openai/combos" },
    { name: "provider-add", path: "/providers/openai/add" },
    { name: "connection", path: `/providers/openai/connections/${company.id}` },
    { name: "connection-failing", path: `/providers/openai/connections/${expired.id}` },
    { name: "endpoint", path: `/providers/${node.id}/endpoint` },
    { name: "combos", path: "/combos" },
    { name: "combos-import", path: "/combos/import" },
    { name: "combos-export", path: "/combos/export" },
    { name: "combo-new", path: "/combos/new" },
    { name: "combo", path: `/combos/${comboId}` },
    { name: "combo-weighted", path: `/combos/${weightedId}` },
    { name: "combo-auto", path: `/combos/${autoId}` },
    { name: "combo-test", path: `/combos/${comboId}/test` },
    { name: "combo-defaults", path: "/combos/defaults" },
    { name: "combo-gone", path: "/combos/no-such-combo" },
    { name: "health", path: "/monitoring/health" },
    { name: "health-provider", path: "/monitoring/health/openai" },
    { name: "cooldowns", path: "/monitoring/cooldowns" },
    { name: "quota", path: "/monitoring/quota" },
    { name: "quota-pools", path: "/monitoring/quota/pools" },
    { name: "quota-pool-add", path: "/monitoring/quota/pools/add" },
    { name: "quota-pool", path: `/monitoring/quota/pools/${poolId}` },
    { name: "quota-pool-gone", path: "/monitoring/quota/pools/no-such-pool" },
    { name: "explain", path: "/monitoring/explain?model=openai%2Fm1" },
    { name: "simulate", path: "/monitoring/simulate?name=team" },
    { name: "simulate-replay", path: "/monitoring/simulate?mode=replay&name=team" },
    { name: "general", path: "/settings/general" },
    { name: "traffic", path: "/settings/traffic" },
    { name: "resilience", path: "/settings/resilience" },
    { name: "model-cooldowns", path: "/settings/cooldowns" },
    { name: "model-lockout", path: "/settings/lockout" },
    { name: "rules", path: "/settings/rules" },
    { name: "rules-add", path: "/settings/rules/add" },
    { name: "rule", path: "/settings/rules/openai/1" },
    { name: "rule-gone", path: "/settings/rules/openai/9" },
    { name: "flags", path: "/settings/flags" },
    { name: "names", path: "/settings/names" },
    { name: "names-add", path: "/settings/names/add" },
    { name: "name", path: `/settings/names/${aliasId}` },
    { name: "keys", path: "/settings/keys" },
    { name: "keys-add", path: "/settings/keys/add" },
    { name: "key", path: `/settings/keys/${keyId}` },
    { name: "agents", path: "/settings/agents" },
    { name: "security", path: "/settings/security" },
    { name: "about", path: "/settings/about" },
    { name: "not-found", path: "/no-such-place" },
  ];
}

/**
 * One combo with every kind of step, one with weights and long names, one that scores, one that is hidden.
 *
 * @param {import("../support/gateway.mjs").Gateway} gateway
 * @returns {Promise<string[]>} their ids, in this order
 */
async function furnishCombos(gateway) {
  const make = async (/** @type {object} */ combo) => (await gateway.call("POST", "/combos", combo)).combo.id;
  await make({ name: "spare", strategy: "round-robin", models: ["openai/m1"], isHidden: true });
  return [
    await make({
      name: "team",
      strategy: "priority",
      models: [
        { model: "anthropic/m1", label: LONG_NAME, tags: ["fast", "cheap"], fallbackOnlyOnQuotaExhaustion: true },
        "spare",
        "openai/m-*",
        { model: "openai/a-model-that-nobody-knows", enabled: false },
      ],
      config: { maxRetries: 2 },
      system_message: "Answer briefly.",
    }),
    await make({
      name: LONG_NAME.replaceAll(" ", "-"),
      strategy: "weighted",
      models: [
        { model: "openai/m1", weight: 6 },
        { model: "anthropic/m1", weight: 3 },
      ],
    }),
    await make({ name: "best", strategy: "auto", models: ["openai/m1", "anthropic/m1"] }),
  ];
}

/**
 * One pool with several limits and a key's part, and one with a long name that nobody has asked.
 *
 * @param {import("../support/gateway.mjs").Gateway} gateway
 * @param {string[]} connections
 * @param {string} apiKeyId
 * @returns {Promise<string>} the id of the first
 */
async function furnishPools(gateway, connections, apiKeyId) {
  const make = async (/** @type {object} */ pool) => (await gateway.call("POST", "/quota/pools", pool)).pool.id;
  await make({ name: LONG_NAME, slug: "long", connections });
  return make({
    name: "Team",
    connections,
    dimensions: [
      { unit: "percent", window: "5h", limit: 100 },
      { unit: "requests", window: "hourly", limit: 2 },
      { unit: "usd", window: "monthly", limit: 20 },
    ],
    allocations: [{ apiKeyId, weight: 3, policy: "burst", capValue: 80 }],
  });
}

/** The screens that look different before anything was set up. */
export const emptyScreens = /** @type {const} */ ([
  { name: "empty-home", path: "/home" },
  { name: "empty-requests", path: "/requests" },
  { name: "empty-usage", path: "/usage" },
  { name: "empty-providers", path: "/providers" },
  { name: "empty-combos", path: "/combos" },
  { name: "empty-combo-new", path: "/combos/new" },
  { name: "empty-simulate", path: "/monitoring/simulate" },
  { name: "empty-health", path: "/monitoring/health" },
  { name: "empty-cooldowns", path: "/monitoring/cooldowns" },
  { name: "empty-quota", path: "/monitoring/quota" },
  { name: "empty-quota-pools", path: "/monitoring/quota/pools" },
  { name: "empty-explain", path: "/monitoring/explain" },
  { name: "empty-model-cooldowns", path: "/settings/cooldowns" },
  { name: "empty-rules", path: "/settings/rules" },
  { name: "empty-rules-add", path: "/settings/rules/add" },
  { name: "empty-names", path: "/settings/names" },
  { name: "empty-keys", path: "/settings/keys" },
  { name: "empty-agents", path: "/settings/agents" },
]);

/**
 * Goes to a screen and waits until it is there in full.
 *
 * @param {Page} page
 * @param {Screen} screen
 */
export async function visit(page, { path }) {
  await page.goto(path);
  await page.locator("main").getByRole("heading").first().waitFor();
  await settle(page);
}

/**
 * Waits until nothing loads and nothing moves.
 *
 * @param {Page} page
 */
export async function settle(page) {
  await page.waitForFunction(
    () =>
      document.querySelector("main .animate-skeleton") === null &&
      document.getAnimations().every((animation) => {
        const { iterations } = animation.effect?.getTiming() ?? {};
        return animation.playState !== "running" || iterations === Number.POSITIVE_INFINITY;
      }),
  );
}
