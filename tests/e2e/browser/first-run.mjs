/** From nothing to the first answered request. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { askAsClaudeCode } from "../support/agent.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";

const run = promisify(execFile);

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function firstRun(checks, stage) {
  await checks.check("somebody new gets from nothing to the first answered request", (folder) =>
    stage.play(folder, {}, async ({ page, upstream }) => {
      await page.goto("/");
      await page.waitForURL("**/setup");
      await page.getByRole("button", { name: /^Anthropic/ }).click();

      await page.getByLabel("API key").fill(PROVIDER_KEY);
      await page.getByRole("button", { name: "Advanced" }).click();
      await page.getByLabel("Base URL").fill(upstream.baseUrl("anthropic"));
      await page.getByRole("button", { name: "Test and save" }).click();

      await page.getByRole("heading", { name: "Which agent do you use?" }).waitFor();
      await page.getByText("This key is shown only now").waitFor();
      await page.getByRole("combobox", { name: "Model" }).click();
      await page.getByRole("option", { name: "anthropic/m1", exact: true }).click();
      await page.getByRole("button", { name: "Copy settings for Claude Code" }).first().click();
      const settings = exported(await copied(page));
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText("Waiting for the first request").waitFor();
      await page.getByText('"model":"anthropic/m1"').waitFor();

      // Exactly what the person pasted, and nothing else.
      const answer = await askAsClaudeCode({
        url: settings.ANTHROPIC_BASE_URL ?? "",
        key: settings.ANTHROPIC_AUTH_TOKEN ?? "",
        model: settings.ANTHROPIC_MODEL ?? "",
      });
      assert.equal(answer, "Hello from the fake upstream");

      await page.getByText("It works").waitFor();
      await page.getByRole("button", { name: "Go to Home" }).click();
      await page.getByRole("heading", { name: "1 connection ready" }).waitFor();
      const row = page.getByRole("grid", { name: "Last requests" }).getByRole("row").nth(1);
      await row.getByText("Answered").waitFor();
      await row.getByText(settings.ANTHROPIC_MODEL ?? "").waitFor();
    }),
  );

  await checks.check("somebody new gets there by the keyboard alone, and always sees where it is", (folder) =>
    stage.play(folder, {}, async ({ page, upstream }) => {
      await page.goto("/");
      await page.waitForURL("**/setup");
      await page.keyboard.press("/");
      await page.keyboard.type("anthr");
      await tabTo(page, page.getByRole("button", { name: /^Anthropic/ }));
      await page.keyboard.press("Enter");

      await tabTo(page, page.getByLabel("API key"));
      await page.keyboard.type(PROVIDER_KEY);
      await tabTo(page, page.getByRole("button", { name: "Advanced" }));
      await page.keyboard.press("Enter");
      await tabTo(page, page.getByLabel("Base URL"));
      await page.keyboard.type(upstream.baseUrl("anthropic"));
      await page.keyboard.press("Enter");

      await page.getByText("This key is shown only now").waitFor();
      const model = page.getByRole("combobox", { name: "Model" });
      await tabTo(page, model);
      await page.keyboard.press("Enter");
      const known = page.getByRole("option", { name: "anthropic/m1", exact: true });
      await known.waitFor();
      await page.keyboard.press("Escape");
      await known.waitFor({ state: "detached" });
      assert.ok(await isFocused(model), "a list that is closed gives the focus back");
      await page.keyboard.press("Enter");
      await page.keyboard.type("anthropic/m1");
      await page.keyboard.press("Enter");
      await page.getByText("ANTHROPIC_MODEL=anthropic/m1").waitFor();
      assert.ok(await isFocused(model), "so does one in which something was chosen");
      await tabTo(page, page.getByRole("button", { name: "Copy settings for Claude Code" }).first());
      await page.keyboard.press("Enter");
      const settings = exported(await copied(page));
      await tabTo(page, page.getByRole("button", { name: "Continue" }));
      await page.keyboard.press("Enter");

      await page.getByText("Waiting for the first request").waitFor();
      await askAsClaudeCode({
        url: settings.ANTHROPIC_BASE_URL ?? "",
        key: settings.ANTHROPIC_AUTH_TOKEN ?? "",
        model: settings.ANTHROPIC_MODEL ?? "",
      });
      await page.getByText("It works").waitFor();
      await tabTo(page, page.getByRole("button", { name: "Go to Home" }));
      await page.keyboard.press("Enter");

      await page.getByRole("heading", { name: "1 connection ready" }).waitFor();
      await tabTo(page, page.getByRole("grid", { name: "Last requests" }));
      await page.keyboard.press("Enter");
      const story = page.getByRole("complementary");
      await story.getByRole("heading", { name: /^Claude Code asked for anthropic\/m1/ }).waitFor();
      assert.ok(await isFocused(story), "what opens beside a list takes the focus");
      await page.keyboard.press("Escape");
      await story.waitFor({ state: "detached" });
      assert.ok(await isFocused(page.getByRole("main")), "and gives it to the content where its list is new");
      await tabTo(page, page.getByRole("grid", { name: "Requests" }));
      await page.keyboard.press("Enter");
      await story.waitFor();
      await page.keyboard.press("Escape");
      await story.waitFor({ state: "detached" });
      assert.ok(await isFocused(page.getByRole("grid", { name: "Requests" })), "or back to its list");
    }),
  );

  await checks.check("the command offered in the set-up works as it is pasted", (folder) =>
    stage.play(folder, {}, async ({ page, gateway, upstream }) => {
      for (const [provider, dialect] of /** @type {const} */ ([
        ["openai", "chat"],
        ["anthropic", "messages"],
        ["gemini", "gemini"],
      ])) {
        const connection = await gateway.connect(provider, dialect, {
          apiKey: PROVIDER_KEY,
          baseUrl: upstream.baseUrl(provider),
        });
        await gateway.call("PATCH", `/providers/${connection.id}`, { defaultModel: "m1" });
        await page.goto(`/setup?provider=${provider}&connection=${connection.id}&step=request`);
        await page.getByRole("button", { name: "Copy curl" }).click();
        const command = (await copied(page)).replace("YOUR_KEY", await gateway.makeKey(dialect));
        const { stdout } = await run("bash", ["-c", `${command} --silent --max-time 30`]);
        assert.match(stdout, /Hello from the fake upstream/, provider);
        await page.getByText("It works").waitFor();
      }
    }),
  );

  await checks.check("a first request that fails is shown with its reason", (folder) =>
    stage.play(folder, {}, async ({ page, gateway, upstream }) => {
      const { id } = await gateway.connect("anthropic", "c", {
        apiKey: PROVIDER_KEY,
        baseUrl: upstream.baseUrl("anthropic"),
      });
      await gateway.answerAtOnce();
      const key = await gateway.makeKey("agents");
      await page.goto(`/setup?provider=anthropic&connection=${id}&step=request`);
      await page.getByText("Waiting for the first request").waitFor();
      await assert.rejects(askAsClaudeCode({ url: gateway.url, key, model: "anthropic/m-500" }));
      await page.getByText("A request arrived, but it failed").waitFor();
      await page.getByText("the model crashed").waitFor();
      await gateway.call("POST", `/providers/${id}/reset`);
      await askAsClaudeCode({ url: gateway.url, key, model: "anthropic/m1" });
      await page.getByText("It works").waitFor();
    }),
  );

  await checks.check("the set-up says what is wrong with a key before anything is saved", (folder) =>
    stage.play(folder, {}, async ({ page, gateway, upstream }) => {
      await page.goto("/setup?provider=anthropic");
      await page.getByLabel("API key").fill("sk-a-wrong-key");
      await page.getByRole("button", { name: "Advanced" }).click();
      await page.getByLabel("Base URL").fill(upstream.baseUrl("anthropic"));
      await page.getByRole("button", { name: "Test and save" }).click();
      await page.getByText("The key was not accepted").waitFor();
      await page.getByText("HTTP 401").waitFor();
      assert.deepEqual(await gateway.connections("anthropic"), []);

      await page.getByLabel("API key").fill(PROVIDER_KEY);
      await page.getByText("The key was not accepted").waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Test and save" }).click();
      await page.getByRole("heading", { name: "Which agent do you use?" }).waitFor();
    }),
  );
}

/** More stops than any of these screens has. */
const STOPS = 60;

/**
 * Goes there as one does without a pointer. Every stop on the way has to show that the keyboard is on it.
 *
 * @param {import("./stage.mjs").Page} page
 * @param {import("playwright-core").Locator} target
 */
async function tabTo(page, target) {
  await target.waitFor();
  for (let stop = 0; stop < STOPS; stop += 1) {
    await page.keyboard.press("Tab");
    const unseen = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const row = element.getAttribute("aria-activedescendant");
      const shown = (row && document.getElementById(row)) || element;
      return getComputedStyle(shown).outlineStyle === "none" ? element.outerHTML.slice(0, 120) : null;
    });
    assert.equal(unseen, null, "the keyboard is on something that does not show it");
    if (await isFocused(target)) return;
  }
  assert.fail(`not reached by Tab: ${target}`);
}

/** @param {import("playwright-core").Locator} target */
function isFocused(target) {
  return target.evaluate((element) => element === document.activeElement);
}

/**
 * What the last press of a copy button put into the clipboard.
 *
 * @param {import("./stage.mjs").Page} page
 * @returns {Promise<string>}
 */
async function copied(page) {
  await page.getByRole("status").filter({ hasText: "Copied" }).first().waitFor({ state: "attached" });
  return page.evaluate(() => navigator.clipboard.readText());
}

/**
 * The variables of a shell snippet.
 *
 * @param {string} snippet
 * @returns {Record<string, string>}
 */
function exported(snippet) {
  const lines = snippet.split("\n").map((line) => /^export (\w+)=(.*)$/.exec(line));
  return Object.fromEntries(lines.filter((found) => found !== null).map(([, name, value]) => [name, value]));
}
