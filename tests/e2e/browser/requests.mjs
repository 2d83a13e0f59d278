/** What agents see and leave behind: their keys, the names they ask for, and the log of their requests. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { askAsClaudeCode, askAsOpenAiTool } from "../support/agent.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";
import { eventually } from "../support/wait.mjs";

/** @typedef {import("./stage.mjs").World} World */

const settled = { onboarded: true };

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function requests(checks, stage) {
  await checks.check("requests appear in the log as they end, can be found, and tell their story", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page } = world;
      await world.gateway.answerAtOnce();
      const ask = await agentOf(world);
      const rows = page.getByRole("grid", { name: "Requests" }).getByRole("row");
      await page.goto("/requests");
      await page.getByText("No request has come in yet").waitFor();

      await askAsOpenAiTool({ ...ask, model: "openai/m1" });
      await rows.filter({ hasText: "openai/m1" }).getByText("Answered").waitFor();
      await assert.rejects(askAsOpenAiTool({ ...ask, model: "openai/m-500" }));
      await rows.filter({ hasText: "openai/m-500" }).getByText("Failed").waitFor();

      await page.getByLabel("Outcome").selectOption("Failed");
      await rows.filter({ hasText: "openai/m1" }).waitFor({ state: "detached" });
      await rows.filter({ hasText: "openai/m-500" }).click();
      await page.getByRole("complementary").getByText("The one attempt failed.").waitFor();
      await page.getByRole("complementary").getByText("the model crashed").first().waitFor();
      // The story has an address of its own.
      await page.reload();
      await page.getByRole("complementary").getByText("The one attempt failed.").waitFor();
      await page.keyboard.press("Escape");
      await page.waitForURL((url) => url.pathname === "/requests" && url.search === "?outcome=failure");
    }),
  );

  await checks.check("a request to a combo tells whom it asked, in which order, and who was left out", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await gateway.answerAtOnce();
      const ask = await agentOf(world);
      const resting = await gateway.connect("anthropic", "Resting", {
        apiKey: PROVIDER_KEY,
        baseUrl: world.upstream.baseUrl("anthropic"),
      });
      await gateway.call("PATCH", `/providers/${resting.id}`, { isActive: false });
      const [company] = await gateway.connections("openai");
      const second = await gateway.connect("openai", "Second", {
        apiKey: PROVIDER_KEY,
        baseUrl: world.upstream.baseUrl("openai"),
      });
      await gateway.call("POST", "/combos", {
        name: "crew",
        strategy: "priority",
        models: [
          { model: "anthropic/m1", connectionId: resting.id },
          { model: "openai/m-500", connectionId: company?.id },
          { model: "openai/m1", connectionId: second.id },
        ],
      });
      assert.equal(await askAsOpenAiTool({ ...ask, model: "crew" }), "Hello from the fake upstream");
      await page.goto("/requests");
      await page.getByRole("grid", { name: "Requests" }).getByRole("row").filter({ hasText: "crew" }).click();
      const story = page.getByRole("complementary");
      await story.getByText(/Second answered after \d failed attempts?,/).waitFor();
      const attempts = story.locator("section").filter({ hasText: "Attempts" }).getByRole("listitem");
      await attempts.filter({ hasText: "openai/m-500" }).first().getByText("the model crashed").waitFor();
      await attempts.filter({ hasText: "openai/m1" }).getByText("Answered").waitFor();
      await story.getByText("Priority", { exact: true }).waitFor();
      await story.getByRole("link", { name: "crew" }).waitFor();
      const leftOut = story.locator("section").filter({ hasText: "Left out" });
      await leftOut.getByText("anthropic/m1").waitFor();
      await leftOut.getByText("Somebody switched this connection off.").waitFor();
      await leftOut.getByRole("link", { name: "Open connection" }).click();
      await page.waitForURL(`**/providers/anthropic/connections/${resting.id}`);
    }),
  );

  await checks.check("a request to a panel tells what each of its calls used", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await gateway.answerAtOnce();
      const ask = await agentOf(world);
      await gateway.call("POST", "/combos", {
        name: "council",
        strategy: "fusion",
        models: [{ model: "openai/m1" }, { model: "openai/m-reason" }, { model: "openai/m-tool" }],
      });
      assert.equal(await askAsOpenAiTool({ ...ask, model: "council" }), "Hello from the fake upstream");
      await page.goto("/requests");
      await page.getByRole("grid", { name: "Requests" }).getByRole("row").filter({ hasText: "council" }).click();
      const attempts = page.getByRole("complementary").locator("section").filter({ hasText: "Attempts" });
      const calls = attempts.getByRole("listitem").filter({ hasText: /\d+ tokens in, \d+ out/ });
      await calls.filter({ hasText: "openai/m-reason" }).getByText("12 tokens in, 20 out").waitFor();
      assert.equal(await calls.count(), 4, "three members and the judge");
    }),
  );

  await checks.check("whoever wants no motion gets none, and all that is new all the same", (folder) =>
    stage.play(folder, settled, async ({ gateway, upstream }) => {
      await gateway.connect("openai", "Work", { apiKey: PROVIDER_KEY, baseUrl: upstream.baseUrl("openai") });
      await gateway.answerAtOnce();
      const ask = { url: gateway.url, key: await gateway.makeKey("agents") };
      await askAsOpenAiTool({ ...ask, model: "openai/m1" });
      await stage.show(settled, { reducedMotion: "reduce" }, async (page) => {
        const moving = () =>
          page.evaluate(() =>
            document.getAnimations().flatMap(({ effect }) => {
              const { duration = 0 } = effect?.getComputedTiming() ?? {};
              return Number(duration) > 1 && effect instanceof KeyframeEffect ? [String(effect.target?.className)] : [];
            }),
          );
        await page.goto("/requests");
        const rows = page.getByRole("grid", { name: "Requests" }).getByRole("row");
        await rows.nth(1).waitFor();
        await askAsOpenAiTool({ ...ask, model: "openai/m-reason" });
        await rows.getByText("openai/m-reason").waitFor();
        assert.deepEqual(await moving(), []);
        await rows.nth(1).click();
        await page.getByRole("complementary").waitFor();
        assert.deepEqual(await moving(), []);
        await page.goto("/setup?provider=openai");
        await page.getByRole("heading", { name: "Connect OpenAI" }).waitFor();
        assert.deepEqual(await moving(), []);
      });
    }),
  );

  await checks.check("a window out of sight reads nothing, and catches up on its return", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page } = world;
      const ask = await agentOf(world);
      /** @type {string[]} */
      const reads = [];
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        if (pathname.startsWith("/api/") && !pathname.includes("/events") && !pathname.includes("/live")) {
          reads.push(pathname);
        }
      });
      await page.goto("/requests");
      await page.getByText("No request has come in yet").waitFor();
      await show(page, false);
      reads.length = 0;
      for (let n = 0; n < 3; n += 1) await askAsOpenAiTool({ ...ask, model: "openai/m1" });
      // Long enough for whatever reads at intervals.
      await pause(4_000);
      assert.deepEqual(reads, []);
      await show(page, true);
      const rows = page.getByRole("grid", { name: "Requests" }).getByRole("row").filter({ hasText: "openai/m1" });
      await rows.nth(2).waitFor();
    }),
  );

  await checks.check("a key is shown once, lets its agent in, and keeps it out when switched off", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      await page.goto("/settings/keys/add");
      await page.getByLabel("Name").fill("Laptop");
      await page.getByRole("button", { name: "Make key" }).click();
      await page.getByText("it is shown only this once").waitFor();
      const key = await page.getByRole("dialog").locator("code").textContent();
      assert.ok(key?.startsWith("sk-"), "its text is there");
      await page.getByRole("button", { name: "I have it" }).click();
      const row = page.getByRole("row").filter({ hasText: "Laptop" });
      await row.getByText("Active").waitFor();
      assert.ok(!(await page.content()).includes(key ?? ""), "it is nowhere to be read again");

      const ask = { url: gateway.url, key: key ?? "", model: "openai/m1" };
      assert.equal(await askAsOpenAiTool(ask), "Hello from the fake upstream");
      await row.getByRole("switch", { name: "Let Laptop in" }).click();
      await row.getByText("Switched off").waitFor();
      await assert.rejects(askAsOpenAiTool(ask), /^Error: 401 /);
    }),
  );

  await checks.check("a name of one's own leads to the model it stands for", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      await gateway.connect("anthropic", "Private", {
        apiKey: PROVIDER_KEY,
        baseUrl: world.upstream.baseUrl("anthropic"),
      });
      await page.goto("/settings/names/add");
      await page.getByRole("textbox", { name: "Name" }).fill("best");
      await page.getByRole("complementary").getByRole("combobox").click();
      await page.keyboard.type("anthropic/m1");
      await page
        .getByRole("option", { name: /anthropic\/m1/ })
        .first()
        .click();
      await page.getByRole("complementary").getByRole("button", { name: "Make name" }).click();
      await page.getByRole("row").filter({ hasText: "best" }).getByText("anthropic/m1").waitFor();
      const answer = await eventually("the name is known", () => askAsClaudeCode({ ...ask, model: "best" }));
      assert.equal(answer, "Hello from the fake upstream");
    }),
  );
}

/**
 * Brings the page out of sight, as another tab or a minimised window would, or back.
 *
 * @param {World["page"]} page
 * @param {boolean} isSeen
 */
function show(page, isSeen) {
  return page.evaluate((seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    Object.defineProperty(document, "visibilityState", {
      configurable: true,
      get: () => (seen ? "visible" : "hidden"),
    });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isSeen);
}

/**
 * Lets an agent in and gives it a provider to reach.
 *
 * @param {World} world
 */
async function agentOf({ gateway, upstream }) {
  await gateway.connect("openai", "Company", { apiKey: PROVIDER_KEY, baseUrl: upstream.baseUrl("openai") });
  return { url: gateway.url, key: await gateway.makeKey("Agents") };
}
