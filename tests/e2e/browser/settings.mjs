/** Appearance, language and the gateway's port; and the gateway going away while somebody looks. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { askAsOpenAiTool } from "../support/agent.mjs";
import { freePort, occupyPort } from "../support/ports.mjs";
import { PROVIDER_KEY } from "../support/upstream.mjs";
import { eventually } from "../support/wait.mjs";

const settled = { onboarded: true };

/**
 * @param {import("../support/checks.mjs").Checks} checks
 * @param {import("./stage.mjs").Stage} stage
 */
export async function settings(checks, stage) {
  await checks.check("theme and language change at once and are kept", (folder) =>
    stage.play(folder, settled, async ({ page }) => {
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await page.goto("/settings/general");
      await page.getByRole("radio", { name: "Light" }).click();
      const light = await background();
      await page.getByRole("radio", { name: "Dark" }).click();
      await eventually("the page is dark", async () => (await background()) !== light);
      await page.getByRole("radio", { name: "Italiano" }).click();
      await page.getByRole("heading", { name: "Generali", level: 1 }).waitFor();

      await page.reload();
      await page.getByRole("heading", { name: "Generali", level: 1 }).waitFor();
      assert.notEqual(await background(), light);
      assert.equal(await page.locator("html").getAttribute("lang"), "it");
    }),
  );

  await checks.check("a feature flag holds at once, and goes back when it is reset", (folder) =>
    stage.play(folder, settled, async ({ page, gateway }) => {
      const stored = async () => (await gateway.call("GET", "/settings")).routing.emergencyFallback.enabled;
      await page.goto("/settings/flags");
      await page.getByRole("searchbox").fill("credit");
      const flag = page.getByRole("switch", { name: "Emergency fallback" });
      await flag.click();
      await eventually("the flag is on", stored);
      await page.getByRole("button", { name: "Reset Emergency fallback" }).click();
      await eventually("the flag is off again", async () => !(await stored()));
    }),
  );

  await checks.check("the connections of a provider take turns as they are told", (folder) =>
    stage.play(folder, settled, async ({ page, gateway, upstream }) => {
      const apiKey = PROVIDER_KEY;
      const baseUrl = upstream.baseUrl("openai");
      await gateway.connect("openai", "First", { apiKey, baseUrl });
      await gateway.connect("openai", "Second", { apiKey, baseUrl });
      await page.goto("/providers/openai");
      await page.getByRole("combobox", { name: "They take turns" }).selectOption("Round robin");
      await page.getByText("One after another, so that each gets as many requests.").waitFor();
      const key = await gateway.makeKey("Turns");
      await gateway.answerAtOnce();
      for (let n = 0; n < 4; n += 1) await askAsOpenAiTool({ url: gateway.url, key, model: "openai/m1" });
      const { requests } = await gateway.call("GET", "/requests?limit=10");
      const served = requests.map((/** @type {any} */ row) => row.connectionName).reverse();
      assert.deepEqual(served, ["First", "Second", "First", "Second"]);
    }),
  );

  await checks.check("a rule for an error holds from the next request on, and ends with its removal", (folder) =>
    stage.play(folder, settled, async ({ page, gateway, upstream }) => {
      const { id } = await gateway.connect("openai", "Work", {
        apiKey: PROVIDER_KEY,
        baseUrl: upstream.baseUrl("openai"),
      });
      await gateway.answerAtOnce();
      const ask = { url: gateway.url, key: await gateway.makeKey("Rules"), model: "openai/m-400" };
      const minutesOfRest = async () => {
        await assert.rejects(askAsOpenAiTool(ask));
        const [work] = await gateway.connections("openai");
        const until = work?.rateLimitedUntil;
        return until ? Math.ceil((Date.parse(until) - Date.now()) / 60_000) : 0;
      };
      assert.equal(await minutesOfRest(), 0, "a 400 is the request's own fault");

      await page.goto("/settings/rules");
      await page.getByRole("button", { name: "New rule" }).click();
      await page.getByRole("button", { name: /^400 the request makes no sense/ }).click();
      await page.getByLabel("The error says").fill("MAKES NO SENSE");
      await page.getByText("The rule fits 1 of 1.").waitFor();
      await page.getByLabel("For", { exact: true }).fill("20");
      await page.getByRole("button", { name: "Add rule" }).click();
      const rules = page.getByRole("grid", { name: "Rules of OpenAI" });
      await rules.getByText("20 min").waitFor();
      assert.equal(await minutesOfRest(), 20);

      await gateway.call("POST", `/providers/${id}/reset`);
      await rules.getByText("MAKES NO SENSE").click();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByText("No rule of your own yet").waitFor();
      assert.equal(await minutesOfRest(), 0);
    }),
  );

  await checks.check("a port that is taken is refused with the reason, and a free one is moved to", (folder) =>
    stage.play(folder, settled, async ({ page, gateway }) => {
      const taken = await occupyPort();
      try {
        await page.goto("/settings/general");
        const port = page.getByLabel("Port", { exact: true });
        await port.fill(String(taken.port));
        await port.press("Enter");
        await page.getByText("Another program uses this port. The gateway stays where it is.").waitFor();
        await gateway.call("GET", "/app");

        await port.fill("70000");
        await port.press("Enter");
        await page.getByText("Must be between 1 and 65535.").waitFor();

        const free = await freePort();
        await port.fill(String(free));
        await port.press("Enter");
        await page.getByText(`The gateway now listens on port ${free}.`).waitFor();
        await page.getByRole("banner").getByText(`127.0.0.1:${free}`).waitFor();
        assert.equal((await gateway.call("GET", "/app")).url, `http://127.0.0.1:${free}`);
      } finally {
        await taken.release();
      }
    }),
  );

  await checks.check("Ctrl-K finds a setting by name, and leads to it", (folder) =>
    stage.play(folder, settled, async ({ page }) => {
      await page.goto("/home");
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("listening address");
      await page.getByRole("option", { name: /Listening address/ }).waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL("**/settings/security#gateway.bindAddress");
      const field = page.getByLabel("Listening address");
      await eventually("the setting can be changed at once", () =>
        field.evaluate((element) => element === element.ownerDocument.activeElement),
      );
    }),
  );

  await checks.check("the list of settings that the window's tests go by is the gateway's own", (folder) =>
    stage.play(folder, settled, async ({ gateway }) => {
      const list = new URL("../../../ui/src/test/gateway-fields.jsonl", import.meta.url);
      const listed = (await readFile(list, "utf8")).trim().split("\n");
      const { fields } = await gateway.call("GET", "/settings/fields");
      const names = ["path", "kind", "unit", "min", "max", "choices", "default", "env"];
      const declared = fields.map((/** @type {any} */ field) =>
        Object.fromEntries(names.map((name) => [name, field[name]])),
      );
      assert.deepEqual(
        listed.map((line) => JSON.parse(line)),
        declared,
      );
    }),
  );

  await checks.check("traffic's settings are saved, and a proxy needs its address first", (folder) =>
    stage.play(folder, settled, async ({ page, gateway }) => {
      const stored = () => gateway.call("GET", "/settings");
      await page.goto("/settings/traffic");
      const proxy = page.getByLabel("Proxy", { exact: true });
      await proxy.selectOption("My own");
      await page.getByText("Enter the address of the proxy first.").waitFor();
      const address = page.getByLabel("Address of the proxy");
      await address.fill("http://127.0.0.1:3128");
      await address.press("Enter");
      await eventually("the address is stored", async () => (await stored()).network.proxyUrl !== null);
      await proxy.selectOption("My own");
      await eventually("the proxy is in use", async () => (await stored()).network.proxyMode === "custom");
      const largest = page.getByLabel("Largest request");
      await largest.fill("1 KiB");
      await largest.press("Enter");
      await eventually("the limit is stored", async () => (await stored()).gateway.bodyLimitBytes === 1_024);
      await assert.rejects(
        askAsOpenAiTool({ url: gateway.url, key: await gateway.makeKey("Long"), model: "m".repeat(2_000) }),
        /^Error: 413 /,
      );
    }),
  );

  await checks.check("what the gateway refuses is said in the window's language", (folder) =>
    stage.play(folder, { ...settled, language: "it" }, async ({ page, gateway }) => {
      const make = (/** @type {string} */ name) =>
        gateway.call("POST", "/combos", { name, strategy: "priority", models: ["openai/m1"] });
      await make("crew");
      const { combo } = await make("staff");
      await page.goto(`/combos/${combo.id}`);
      await page.getByLabel("Nome", { exact: true }).fill("crew");
      await page.getByRole("button", { name: "Salva modifiche" }).click();
      await page.getByText("Questo nome è già usato.").waitFor();
    }),
  );

  await checks.check("a stopped gateway is said so, and the screens recover when it is back", (folder) =>
    stage.play(folder, settled, async ({ page, gateway, upstream }) => {
      const banner = page.getByRole("status").filter({ hasText: "The gateway does not answer" });
      await page.goto("/providers");
      await page.getByText("Connect your first provider").waitFor();
      await gateway.stop();
      await banner.waitFor();
      await page.getByRole("banner").getByText("Not reachable").waitFor();
      // A screen that was not read before.
      await page.getByRole("link", { name: "General" }).click();
      await page.getByRole("alert").first().getByText("The gateway does not answer.").waitFor();

      await gateway.start();
      await banner.waitFor({ state: "detached" });
      await page.getByRole("banner").getByText("Running").waitFor();
      await page.getByLabel("Port", { exact: true }).waitFor();
      await gateway.connect("openai", "Made meanwhile", { apiKey: "sk-x", baseUrl: upstream.baseUrl("openai") });
      await page.getByRole("link", { name: "Providers" }).click();
      await page.getByRole("grid", { name: "Providers" }).getByText("OpenAI", { exact: true }).waitFor();
    }),
  );
}
