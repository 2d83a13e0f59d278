/** The desktop program itself: its window, the gateway inside it, and an agent outside. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { askAsClaudeCode } from "../support/agent.mjs";
import { Checks } from "../support/checks.mjs";
import { freePort, occupyPort } from "../support/ports.mjs";
import { PROVIDER_KEY, Upstream } from "../support/upstream.mjs";
import { Window } from "./window.mjs";

const binaries = process.env.OMNIROUTE_BINARIES ?? "";
const application = resolve(process.env.OMNIROUTE_WINDOW ?? "");
const checks = new Checks("window", process.argv[2]);
await checks.begin();

await checks.check(
  "a connection made in the window carries an agent's streamed request, which the window shows",
  async (folder) =>
    withWindow(folder, await freePort(), async (window, port) => {
      const upstream = await Upstream.start(binaries, folder);
      try {
        await window.press("button", "Anthropic");
        await window.fill("API key", PROVIDER_KEY);
        await window.press("button", "Advanced");
        await window.fill("Base URL", upstream.baseUrl("anthropic"));
        await window.press("button", "Test and save");

        await window.words("Which agent do you use?");
        const key = await window.textOf("//code[starts-with(., 'sk-')]");
        await (await window.labelled("Model")).click();
        await (await window.see("//*[@role='option'][normalize-space(.)='anthropic/m1']")).click();
        await window.press("button", "Continue");
        await window.words("Waiting for the first request");

        const url = `http://127.0.0.1:${port}`;
        const answer = await askAsClaudeCode({ url, key, model: "anthropic/m1" });
        assert.equal(answer, "Hello from the fake upstream");
        await window.words("It works");
        await window.press("button", "Go to Home");
        await window.words("1 connection ready");
        await window.press("a", "Requests");
        const row = "//*[@role='grid']//*[@role='row'][contains(., 'anthropic/m1')][contains(., 'Answered')]";
        await (await window.see(row)).click();
        // The model's name is an element of its own within the sentence.
        await window.see("//h2[starts-with(normalize-space(.), 'Claude Code asked for anthropic/m1; ')]");
        await window.screenshot(join(checks.folder, "request.png"));
      } finally {
        await upstream.stop();
      }
    }),
);

await checks.check(
  "a port that is taken is said in the window, and one press starts the gateway on the next",
  async (folder) => {
    const taken = await occupyPort();
    try {
      await withWindow(folder, taken.port, async (window) => {
        await window.words(`Port ${taken.port} is taken`);
        const offer = await window.textOf("//button[starts-with(normalize-space(.), 'Use port ')]");
        await window.screenshot(join(checks.folder, "port-taken.png"));
        await window.press("button", offer);
        const port = Number(offer.replace("Use port ", ""));
        await window.words("Where should requests go?");
        const running = JSON.parse(await readFile(join(window.dataDir, "gateway.json"), "utf8"));
        assert.equal(running.port, port);
        const models = await fetch(`http://127.0.0.1:${port}/v1/models`);
        assert.equal(models.status, 401, "the gateway answers, and asks for a key");
      });
    } finally {
      await taken.release();
    }
  },
);

checks.finish();

/**
 * The program for as long as `use` takes. How it looked when that failed is kept.
 *
 * @param {string} folder
 * @param {number} port for its gateway
 * @param {(window: Window, port: number) => Promise<void>} use
 */
async function withWindow(folder, port, use) {
  const window = await Window.open(application, folder, port);
  try {
    await use(window, port);
  } catch (error) {
    await window.screenshot(join(folder, "at-the-end.png")).catch(() => undefined);
    throw error;
  } finally {
    await window.close();
  }
}
