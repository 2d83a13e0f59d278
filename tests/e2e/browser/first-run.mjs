/** From nothing to the first answered request. */
import assert from "node:assert/strict";
import { askAsClaudeCode } from "../support/agent.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";

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
      await page.getByRole("button", { name: "Copy settings for Claude Code" }).first().click();
      await page.getByRole("status").filter({ hasText: "Copied" }).first().waitFor({ state: "attached" });
      const settings = exported(await page.evaluate(() => navigator.clipboard.readText()));
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText("Waiting for the first request").waitFor();

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
