/** Providers and their connections: adding, ordering, switching off, testing, deleting. */
import assert from "node:assert/strict";
import { freePort } from "../support/ports.mjs";
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
export async function providers(checks, stage) {
  await checks.check("a second connection is added beside the first", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway, upstream } = world;
      await connectOpenAi(world, "Private");
      await page.goto("/providers");
      await page.getByRole("grid", { name: "Providers" }).getByText("OpenAI", { exact: true }).click();
      await page.getByRole("button", { name: "Add connection" }).click();
      await page.getByLabel("API key").fill(PROVIDER_KEY);
      await page.getByLabel("Name").fill("Company");
      await page.getByRole("button", { name: "Advanced" }).click();
      await page.getByLabel("Base URL").fill(upstream.baseUrl("openai"));
      await page.getByRole("button", { name: "Test and save" }).click();
      await connectionRow(page, "Company").getByText("Ready").waitFor();
      assert.deepEqual(await names(gateway), ["Private", "Company"]);
    }),
  );

  await checks.check("a connection is moved by keyboard and stays there", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      for (const name of ["First", "Second", "Third"]) await connectOpenAi(world, name);
      await page.goto("/providers/openai");
      await page.getByRole("grid", { name: "Connections" }).focus();
      await page.keyboard.press("End");
      await page.keyboard.press("Tab");
      await handle(page, "Move Third, position 3 of 3").waitFor();
      await page.keyboard.press("ArrowUp");
      await handle(page, "Move Third, position 2 of 3").waitFor();
      await page.keyboard.press("ArrowUp");
      await handle(page, "Move Third, position 1 of 3").waitFor();
      await page.getByText("Third is now at position 1 of 3").waitFor({ state: "attached" });
      await eventually(
        "the gateway knows the order",
        async () => (await names(gateway)).join() === "Third,First,Second",
      );
      await page.reload();
      await page.getByRole("button", { name: "Move Third, position 1 of 3" }).waitFor({ state: "attached" });
    }),
  );

  await checks.check("a connection is switched off and on from the list", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await connectOpenAi(world, "First");
      await page.goto("/providers/openai");
      const row = connectionRow(page, "First");
      await row.getByRole("switch", { name: "Use First" }).click();
      await row.getByText("Switched off").waitFor();
      await eventually(
        "the gateway has it off",
        async () => (await gateway.connections("openai"))[0]?.isActive === false,
      );
      await page.getByRole("grid", { name: "Connections" }).focus();
      await page.keyboard.press(" ");
      await row.getByText("Switched off").waitFor({ state: "detached" });
      await eventually("the gateway has it on", async () => (await gateway.connections("openai"))[0]?.isActive);
    }),
  );

  await checks.check("a test says precisely what is wrong with a connection", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway, upstream } = world;
      const setBaseUrl = (/** @type {string} */ baseUrl) =>
        gateway.call("PATCH", `/providers/${id}`, { providerSpecificData: { baseUrl } });
      const { id } = await connectOpenAi(world, "Private", "sk-a-wrong-key");
      await page.goto(`/providers/openai/connections/${id}`);
      const test = page.getByRole("button", { name: "Test connection" });
      for (const [baseUrl, title] of /** @type {const} */ ([
        [upstream.baseUrl("openai"), "The key was not accepted"],
        [`http://127.0.0.1:${await freePort()}/v1`, "Nothing is listening there"],
      ])) {
        await setBaseUrl(baseUrl);
        await test.click();
        await page.getByText(title).waitFor();
      }
      await setBaseUrl(upstream.baseUrl("openai"));
      await page.getByRole("button", { name: "Replace key" }).click();
      await page.getByLabel("New key").fill(PROVIDER_KEY);
      await page.getByRole("button", { name: "Replace key" }).click();
      await page.getByText("Key replaced.").waitFor();
      await gateway.call("PATCH", `/providers/${id}`, { defaultModel: "no-such-model" });
      await test.click();
      await page.getByText("The provider does not know this model").waitFor();
      await gateway.call("PATCH", `/providers/${id}`, { defaultModel: "m1" });
      await test.click();
      await page.getByText(/^Works\./).waitFor();
    }),
  );

  await checks.check("an address that is not allowed is refused beside its field", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway, upstream } = world;
      const { id } = await connectOpenAi(world, "Private");
      await page.goto(`/providers/openai/connections/${id}`);
      const address = page.getByLabel("Base URL");
      for (const refused of ["http://192.168.1.1/v1", "http://example.com/v1", `${gateway.url}/v1`]) {
        await address.fill(refused);
        await address.press("Enter");
        await page.locator("[aria-invalid=true]").waitFor();
        const help = await page.locator(`[id="${await address.getAttribute("aria-describedby")}"]`).textContent();
        assert.ok(help && help.length > 20 && !help.startsWith("Only to go"), `${refused}: ${help}`);
        const [kept] = await gateway.connections("openai");
        assert.equal(kept?.providerSpecificData.baseUrl, upstream.baseUrl("openai"));
        await page.reload();
      }
    }),
  );

  await checks.check("a deleted connection comes back with undo", (folder) =>
    stage.play(folder, settled, async (world) => {
      const { page, gateway } = world;
      await connectOpenAi(world, "Keep");
      const { id } = await connectOpenAi(world, "Oops");
      await page.goto(`/providers/openai/connections/${id}`);
      await page.getByRole("button", { name: "Delete connection" }).click();
      await page.getByText("Oops was deleted").waitFor();
      await connectionRow(page, "Oops").waitFor({ state: "detached" });
      assert.deepEqual(await names(gateway), ["Keep"]);
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText("Oops is back").waitFor();
      await connectionRow(page, "Oops").getByText("Ready").waitFor();
      assert.deepEqual(await names(gateway), ["Keep", "Oops"]);
      const { ok } = await gateway.call("POST", `/providers/${id}/test`);
      assert.ok(ok, "its key came back with it");
    }),
  );

  await checks.check("a server of one's own is added as a custom endpoint", (folder) =>
    stage.play(folder, settled, async ({ page, upstream }) => {
      await page.goto("/providers/add");
      await page.getByRole("button", { name: /^Custom endpoint/ }).click();
      await page.getByLabel("Name").first().fill("Workshop");
      await page.getByLabel("Base URL").fill(`${upstream.origin}/v1`);
      await page.getByLabel("API key").fill(PROVIDER_KEY);
      await page.getByRole("button", { name: "Test and save" }).click();
      await page.getByRole("heading", { name: "Workshop" }).first().waitFor();
      await page.getByRole("grid", { name: "Connections" }).getByText("Ready").waitFor();
    }),
  );
}

/**
 * @param {World} world
 * @param {string} name
 * @param {string} apiKey
 */
function connectOpenAi({ gateway, upstream }, name, apiKey = PROVIDER_KEY) {
  return gateway.connect("openai", name, { apiKey, baseUrl: upstream.baseUrl("openai") });
}

/** @param {World["gateway"]} gateway */
async function names(gateway) {
  return (await gateway.connections("openai")).map((connection) => connection.name);
}

/**
 * @param {Page} page
 * @param {string} name
 */
function connectionRow(page, name) {
  return page.getByRole("grid", { name: "Connections" }).getByRole("row").filter({ hasText: name });
}

/**
 * The handle under the keyboard.
 *
 * @param {Page} page
 * @param {string} label
 */
function handle(page, label) {
  return page.locator(`button[aria-label="${label}"]:focus`);
}
