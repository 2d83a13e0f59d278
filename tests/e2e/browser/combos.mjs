/** Combos: made, put in order, looked ahead of, asked for, taken along to another installation; and simulated. */
import assert from "node:assert/strict";
import { askAsOpenAiTool } from "../support/agent.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";
import { eventually } from "../support/wait.mjs";

/**
 * @typedef {import("./stage.mjs").Page} Page
 * @typedef {import("./stage.mjs").World} World
 */

const settled = { onboarded: true };

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function combos(checks, stage) {
  await checks.check("a combo is made by hand, and answers to its name at once", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      await page.goto("/combos");
      await page.getByRole("button", { name: "New combo" }).click();
      await page.getByLabel("Name", { exact: true }).fill("crew");
      await addStep(page, "openai/no-such-model", "Use openai/no-such-model");
      await addStep(page, "openai/m1", "openai/m1");
      await page.getByText("Company would be asked first, for no-such-model.").waitFor();
      await page.getByRole("button", { name: "Make combo" }).click();
      await page.getByText("crew was made. Agents can ask for it now.").waitFor();
      await page.waitForURL(/\/combos\/(?!new)[^/]+$/);
      // Nobody has the first model: the second answers.
      const answer = await eventually("the combo is known", () => askAsOpenAiTool({ ...ask, model: "crew" }));
      assert.equal(answer, "Hello from the fake upstream");
      const [made] = (await gateway.call("GET", "/combos")).combos;
      assert.deepEqual(
        made.models.map((/** @type {any} */ step) => step.model),
        ["openai/no-such-model", "openai/m1"],
      );
    }),
  );

  await checks.check("steps are moved by keyboard and by dragging, and the change is kept", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const models = ["openai/m1", "openai/m-reason", "openai/m-500"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await page.goto(`/combos/${combo.id}`);
      await page.getByRole("button", { name: "Move openai/m-500, step 3 of 3" }).focus();
      await page.keyboard.press("ArrowUp");
      await page.getByText("openai/m-500 is now step 2 of 3").waitFor({ state: "attached" });
      await drag(page, "Move openai/m1, step 1 of 3", 120);
      await page.getByRole("button", { name: "Move openai/m1, step 3 of 3" }).waitFor();
      await page.keyboard.press("Control+s");
      await page.getByText("crew was saved").waitFor();
      const saved = (await gateway.call("GET", `/combos/${combo.id}`)).combo;
      assert.deepEqual(
        saved.models.map((/** @type {any} */ step) => step.model),
        ["openai/m-500", "openai/m-reason", "openai/m1"],
      );
    }),
  );

  await checks.check("weights show what they come to, and the simulation confirms it", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const models = [
        { model: "openai/m1", weight: 3 },
        { model: "openai/m-reason", weight: 1 },
      ];
      const { combo } = await gateway.call("POST", "/combos", { name: "spread", strategy: "weighted", models });
      await page.goto(`/combos/${combo.id}`);
      const steps = page.getByRole("list", { name: "Steps", exact: true }).getByRole("listitem");
      await steps.first().getByText("75%").waitFor();
      await page.getByRole("button", { name: "Actions for spread" }).click();
      await page.getByRole("menuitem", { name: "Simulate" }).click();
      await page.getByLabel("Seed").fill("7");
      await page.getByRole("button", { name: "Simulate" }).click();
      const first = page.getByRole("list", { name: /First choice of/ }).getByRole("listitem");
      await first.first().getByText("m1", { exact: true }).waitFor();
      const share = Number.parseInt(
        (await first
          .first()
          .getByText(/^\d+%$/)
          .textContent()) ?? "",
        10,
      );
      assert.ok(share > 68 && share < 82, `three of four go to the first: ${share}%`);
      await page.getByText("Seed 7").waitFor();
    }),
  );

  await checks.check("a strategy is picked, a step bound to one connection, and a score explained", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      const second = await gateway.connect("openai", "Second", {
        apiKey: PROVIDER_KEY,
        baseUrl: world.upstream.baseUrl("openai"),
      });
      const models = ["openai/m1", "openai/m-reason"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await page.goto(`/combos/${combo.id}`);
      await page.getByRole("button", { name: "Details of openai/m1" }).click();
      await page.getByRole("radio", { name: "Always this one" }).click();
      await page.getByRole("combobox", { name: "Always this one" }).selectOption("Second");
      await page.getByText("Second would be asked first, for m1.").waitFor();
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByText("crew was saved").waitFor();
      await askAsOpenAiTool({ ...ask, model: "crew" });
      const [served] = (await gateway.call("GET", "/requests")).requests;
      assert.equal(served.connectionId, second.id, "the step's own connection answered");

      await page.getByLabel("Strategy").click();
      await page.getByPlaceholder(/strateg|way/i).fill("scores");
      await page.getByRole("option", { name: /^Auto/ }).click();
      await page.getByLabel("Balance").selectOption("Reliability first");
      // The look ahead scores what stands in the form, saved or not.
      const why = page.getByRole("button", { name: /^Why m1, Second stands here/ });
      await why.click();
      const parts = page.getByRole("list", { name: /^Why m1, Second stands here/ }).getByRole("listitem");
      await parts.filter({ hasText: "Few failures" }).waitFor();
      const figures = await parts.locator("span:last-child").allTextContents();
      const sum = figures
        .map(Number)
        .filter(Number.isFinite)
        .reduce((all, part) => all + part, 0);
      assert.ok(sum > 0 && sum <= 1.05, `the parts make the score: ${figures.join(" + ")}`);
      await page.keyboard.press("Control+s");
      await page.getByText("crew was saved").first().waitFor();
      await eventually("the strategy is stored", async () => {
        const saved = (await gateway.call("GET", `/combos/${combo.id}`)).combo;
        return saved.strategy === "auto" && saved.config.autoConfig?.modePack === "reliability-first";
      });
    }),
  );

  await checks.check("what every combo does is set once, and a combo follows it", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const models = ["openai/m1"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await page.goto("/combos");
      await page.getByRole("button", { name: "More", exact: true }).click();
      await page.getByRole("menuitem", { name: "What every combo does" }).click();
      const retries = page.getByLabel("Tries again", { exact: true });
      await retries.fill("4");
      await retries.press("Enter");
      await page.getByText("set here").waitFor();
      await page.goto(`/combos/${combo.id}`);
      await page.getByRole("button", { name: "Retries, limits and speed" }).click();
      assert.equal(await page.getByLabel("Tries again", { exact: true }).inputValue(), "4");
      await page.getByText("all combos", { exact: true }).waitFor();
    }),
  );

  await checks.check("what combos do at one provider alone is set on its page, and such a combo follows it", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const models = ["openai/m1"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await page.goto("/providers/openai");
      await page.getByRole("link", { name: "Change", exact: true }).click();
      await page.getByRole("heading", { name: "Combos of OpenAI", level: 1 }).waitFor();
      const retries = page.getByLabel("Tries again", { exact: true });
      await retries.fill("3");
      await retries.press("Enter");
      await page.getByText("set here").waitFor();
      assert.deepEqual((await gateway.call("GET", "/settings")).providerOverrides, { openai: { maxRetries: 3 } });

      await page.goto(`/combos/${combo.id}`);
      await page.getByRole("button", { name: "Retries, limits and speed" }).click();
      await page.getByText("its provider", { exact: true }).waitFor();
      assert.equal(await page.getByLabel("Tries again", { exact: true }).inputValue(), "3");

      await page.goto("/providers/openai/combos");
      await page.getByRole("button", { name: "Reset Tries again" }).click();
      await page.getByText("set here").waitFor({ state: "detached" });
      assert.deepEqual((await gateway.call("GET", "/settings")).providerOverrides, {});
    }),
  );

  await checks.check("what was changed is not lost by leaving", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const { combo } = await gateway.call("POST", "/combos", {
        name: "crew",
        strategy: "priority",
        models: ["openai/m1"],
      });
      await page.goto(`/combos/${combo.id}`);
      await page.getByLabel("Name", { exact: true }).fill("staff");
      await page.getByRole("link", { name: "Home" }).click();
      await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
      await page.keyboard.press("Escape");
      assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "staff");
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("link", { name: "Home" }).click();
      await page.waitForURL("**/home");
    }),
  );

  await checks.check("a refused field is marked, and a combo in use is not deleted", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      const make = (/** @type {string} */ name, /** @type {string[]} */ models) =>
        gateway.call("POST", "/combos", { name, strategy: "priority", models });
      await make("inner", ["openai/m1"]);
      const { combo } = await make("outer", ["inner"]);
      await page.goto(`/combos/${combo.id}`);
      const name = page.getByLabel("Name", { exact: true });
      await name.fill("inner");
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.locator("[aria-invalid=true]").first().waitFor();
      await page.getByRole("button", { name: "Discard" }).click();
      await page.goto("/combos");
      await page.getByRole("button", { name: "Actions for inner" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByRole("dialog", { name: "inner is still in use" }).getByText(/outer/).waitFor();
    }),
  );

  await checks.check("combos are exported, deleted, brought back and imported", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await agentOf(world);
      await gateway.call("POST", "/combos", { name: "crew", strategy: "random", models: ["openai/m1"] });
      await page.goto("/combos/export");
      const panel = page.getByRole("complementary");
      await panel.getByText('"crew"').waitFor();
      const document = (await panel.locator("pre").textContent()) ?? "";
      await panel.getByRole("button", { name: "Close" }).click();

      const grid = page.getByRole("grid", { name: "Combos" });
      await grid.getByRole("button", { name: "Actions for crew" }).click();
      await page.getByRole("menuitem", { name: "Delete" }).click();
      await page.getByText("No combo yet").waitFor();
      await page.getByRole("button", { name: "Undo" }).click();
      await grid.getByText("crew").waitFor();

      await page.goto("/combos/import");
      await page.getByLabel("Or paste it here").fill(document);
      await page.getByRole("complementary").getByRole("button", { name: "Import", exact: true }).click();
      await page.getByRole("alert").getByText("This name is taken.").waitFor();
      await page.getByRole("switch", { name: "Replace combos of the same name" }).click();
      await page.getByRole("complementary").getByRole("button", { name: "Import", exact: true }).click();
      await page.getByText("1 combo imported").waitFor();
      assert.equal((await gateway.call("GET", "/combos")).combos.length, 1);
    }),
  );

  await checks.check("a combo is tested target by target, and shows how it did", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      const models = ["openai/m1", "openai/m-500", "groq/nobody-has-it"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await askAsOpenAiTool({ ...ask, model: "crew" });

      await page.goto("/combos");
      const row = page.getByRole("row", { name: /crew/ });
      await row.getByText("100%").waitFor();
      await row.getByRole("button", { name: "Actions for crew" }).click();
      await page.getByRole("menuitem", { name: "Test" }).click();
      await page.waitForURL(`**/combos/${combo.id}/test`);
      await page.getByRole("button", { name: "Test every target" }).click();
      await page.getByText("1 of 3 targets answered").waitFor();
      const targets = page.getByRole("list", { name: "Targets" });
      await targets.getByText("The provider has a problem of its own").waitFor();
      await targets.getByText("No account may serve it").waitFor();
      // Nobody rests because of a test.
      assert.equal((await gateway.connections("openai"))[0]?.rateLimitedUntil, null);

      await page.keyboard.press("Escape");
      await page.waitForURL(`**/combos/${combo.id}`);
      await page.getByRole("list", { name: "By target" }).getByText("1 request").waitFor();
    }),
  );

  await checks.check("tiers put the steps into another order", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      const models = ["openai/m-500", "openai/m1"];
      const { combo } = await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models });
      await page.goto(`/combos/${combo.id}`);
      await page.getByRole("button", { name: "Add tier" }).click();
      await page.getByLabel("Step of tier tier-1").selectOption({ label: "2 openai/m1" });
      await page.getByText("Company would be asked first, for m1.").waitFor();
      await page.getByRole("button", { name: "Save changes" }).click();
      await page.getByText("crew was saved").waitFor();
      await askAsOpenAiTool({ ...ask, model: "crew" });
      const [request] = (await gateway.call("GET", "/requests")).requests;
      assert.equal(request.attempts, 1, "the first tier answered");
    }),
  );

  await checks.check("the past is replayed under another strategy", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      const ask = await agentOf(world);
      await gateway.call("POST", "/combos", { name: "crew", strategy: "priority", models: ["openai/m1"] });
      await page.goto("/monitoring/simulate?mode=replay&name=crew");
      const replayAs = async (/** @type {string} */ strategy) => {
        await page.getByLabel("Strategy").click();
        await page.getByText(strategy, { exact: true }).click();
        await page.getByRole("button", { name: "Simulate" }).click();
      };
      await replayAs("Fill first");
      await page.getByText("Nothing was recorded in this time").waitFor();
      await askAsOpenAiTool({ ...ask, model: "crew" });
      await replayAs("Random");
      await page
        .getByRole("table")
        .getByRole("row", { name: /Failures the agents saw/ })
        .waitFor();
    }),
  );
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

/**
 * @param {Page} page
 * @param {string} text what is typed
 * @param {string} option what is then chosen
 */
async function addStep(page, text, option) {
  await page.getByRole("button", { name: "Add step" }).click();
  await page.getByPlaceholder(/Model, combo/).fill(text);
  await page.getByRole("option", { name: option }).first().click();
}

/**
 * Drags a handle down by so many pixels.
 *
 * @param {Page} page
 * @param {string} label
 * @param {number} distance
 */
async function drag(page, label, distance) {
  const box = await page.getByRole("button", { name: label }).boundingBox();
  assert.ok(box, "the handle is there");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x, y + distance / 2, { steps: 4 });
  await page.mouse.move(x, y + distance, { steps: 4 });
  await page.mouse.up();
}
