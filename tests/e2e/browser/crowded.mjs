/** Hundreds of rows, and names, models and messages that nobody kept short. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { askAsOpenAiTool } from "../support/agent.mjs";
import { HeldProvider } from "../support/held-provider.mjs";
import { eventually } from "../support/wait.mjs";
import { dress, overflowFindings } from "./accessibility.mjs";
import { visit } from "./screens.mjs";
import { NARROW, ROOMY } from "./stage.mjs";

/**
 * @typedef {import("./stage.mjs").Page} Page
 * @typedef {import("./stage.mjs").World} World
 */

const settled = { onboarded: true };
const ACCOUNTS = 220;
const LONG_NAME = "The account of the third floor that nobody dared to rename since the year 2021ab";
const LONG_MODEL =
  "accounts/platform-team/models/experimental-instruct-256k-context-quantised-awq-int4-of-the-thirtieth-of-november-2026-r7b";
const LONG_MESSAGE = "The cluster reported an unrecoverable scheduling fault while it admitted the request. "
  .repeat(24)
  .slice(0, 2_000);
/** So many rows are drawn at most of a list that is longer than its window is high. */
const DRAWN = 80;

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function crowded(checks, stage) {
  await checks.check("lists of hundreds draw what is in sight, and end with their last row", (folder) =>
    crowd(stage, folder, async ({ page }) => {
      for (const [path, label, last] of /** @type {const} */ ([
        ["/providers/openai", "Connections", `Account ${ACCOUNTS}`],
        ["/requests", "Requests", "lmstudio/model-0"],
        ["/monitoring/cooldowns", "Cooldown Manager", null],
        ["/settings/cooldowns", "Model Cooldowns", "model-219"],
      ])) {
        await page.goto(path);
        const grid = page.getByRole("grid", { name: label });
        const rows = async () => Number(await grid.getAttribute("aria-rowcount"));
        await grid.focus();
        // The log is read page by page, as far as one goes.
        await eventually(`${path} has hundreds of rows`, async () => {
          await page.keyboard.press("End");
          return (await rows()) > ACCOUNTS;
        });
        await page.keyboard.press("End");
        const current = grid.locator(`[aria-rowindex="${await rows()}"]`);
        await current.waitFor();
        if (last) await current.getByText(last, { exact: true }).first().waitFor();
        const drawn = await grid.getByRole("row").count();
        assert.ok(drawn <= DRAWN, `${path} draws ${drawn} rows`);
      }
    }),
  );

  await checks.check("long names, models and messages break no layout", (folder) =>
    crowd(stage, folder, async ({ page, gateway }) => {
      const pictures = join(checks.folder, "screens");
      await mkdir(pictures, { recursive: true });
      const [first] = await gateway.connections("openai");
      const { requests } = await gateway.call("GET", "/requests?limit=50&provider=groq");
      /** @type {string[]} */
      const findings = [];
      for (const screen of [
        { name: "crowded-home", path: "/home" },
        { name: "crowded-requests", path: "/requests" },
        { name: "crowded-request", path: `/requests/${requests[0].id}` },
        { name: "crowded-providers", path: "/providers" },
        { name: "crowded-provider", path: "/providers/openai" },
        { name: "crowded-connection", path: `/providers/openai/connections/${first?.id}` },
        { name: "crowded-cooldowns", path: "/monitoring/cooldowns" },
        { name: "crowded-model-cooldowns", path: "/settings/cooldowns" },
        { name: "crowded-quota", path: "/monitoring/quota" },
        { name: "crowded-explain", path: `/monitoring/explain?model=${encodeURIComponent(`groq/${LONG_MODEL}`)}` },
        { name: "crowded-usage", path: "/usage?by=model" },
      ]) {
        await visit(page, screen);
        for (const size of [ROOMY, NARROW]) {
          await dress(page, size === ROOMY ? "light" : "dark", size);
          await page.screenshot({ path: join(pictures, `${screen.name}-${size.width}.png`) });
          findings.push(...(await overflowFindings(page)).map((finding) => `${screen.name} ${size.width}: ${finding}`));
        }
      }
      assert.deepEqual(findings, []);
    }),
  );
}

/**
 * A world with hundreds of accounts that rest, of models that are locked, and of requests.
 *
 * @param {import("./stage.mjs").Stage} stage
 * @param {string} folder
 * @param {(world: World) => Promise<void>} scene
 */
async function crowd(stage, folder, scene) {
  const provider = await HeldProvider.start();
  try {
    await stage.play(folder, { ...settled, theme: "system" }, async (world) => {
      await furnish(world, provider);
      await scene(world);
    });
  } finally {
    await provider.stop();
  }
}

/**
 * @param {World} world
 * @param {HeldProvider} provider
 */
async function furnish({ gateway }, provider) {
  const { baseUrl } = provider;
  const account = { apiKey: "sk-one-of-hundreds", baseUrl };
  await gateway.answerAtOnce();
  await gateway.call("PATCH", "/settings", {
    providerErrorRules: {
      lmstudio: [
        { status: 498, match: "scheduling fault", scope: "model", reason: "model_capacity", cooldownMs: 1_200_000 },
      ],
    },
  });
  await gateway.connect("lmstudio", "On the shelf", { baseUrl });
  await gateway.connect("groq", LONG_NAME, account);
  await gateway.connect("openai", LONG_NAME, account);
  for (let n = 1; n <= ACCOUNTS; n += 1) await gateway.connect("openai", `Account ${n}`, account);

  const key = await gateway.makeKey(LONG_NAME);
  const refused = (/** @type {string} */ model) => assert.rejects(askAsOpenAiTool({ url: gateway.url, key, model }));
  provider.refuse({ status: 498, message: LONG_MESSAGE });
  for (let n = 0; n < ACCOUNTS; n += 1) await refused(`lmstudio/model-${n}`);
  provider.refuse({ status: 500, message: LONG_MESSAGE });
  await refused(`groq/${LONG_MODEL}`);
  provider.announce({ "retry-after": "1800" });
  provider.refuse({ status: 429, message: LONG_MESSAGE });
  // One request asks only so many accounts.
  for (let n = 0; n < 10; n += 1) await refused("openai/m1");
}
