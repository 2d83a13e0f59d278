/**
 * Where the browser's checks play: one Chromium and one server of pages for the whole run, and for each check a fresh
 * gateway, a fresh provider and a fresh browser profile.
 */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { preview } from "vite";
import { Gateway } from "../support/gateway.mjs";
import { freePort } from "../support/ports.mjs";
import { Upstream } from "../support/upstream.mjs";

/**
 * @typedef {import("playwright-core").Page} Page
 * @typedef {import("playwright-core").BrowserContextOptions} BrowserContextOptions
 * @typedef {{ theme?: "system" | "light" | "dark", language?: "en" | "it", onboarded?: boolean }} Preferences
 * @typedef {{ page: Page, gateway: Gateway, upstream: Upstream, folder: string }} World
 */

export const ROOMY = { width: 1280, height: 800 };
export const NARROW = { width: 960, height: 640 };
/** As small as the window can be made. */
export const SMALLEST = { width: 800, height: 560 };

const PATIENCE_MS = 20_000;
const QUIET = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export class Stage {
  #binaries;
  #browser;
  #pages;
  #origin;

  /**
   * @param {string} binaries
   * @param {import("playwright-core").Browser} browser
   * @param {import("vite").PreviewServer} pages
   * @param {string} origin
   */
  constructor(binaries, browser, pages, origin) {
    this.#binaries = binaries;
    this.#browser = browser;
    this.#pages = pages;
    this.#origin = origin;
  }

  /** @param {string} binaries folder of the built programs */
  static async open(binaries) {
    const port = await freePort();
    const pages = await preview({
      configFile: new URL("../../../ui/vite.config.ts", import.meta.url).pathname,
      logLevel: "warn",
      preview: { port, strictPort: true },
    });
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      chromiumSandbox: false,
      args: QUIET,
    });
    return new Stage(binaries, browser, pages, `http://127.0.0.1:${port}`);
  }

  async close() {
    await this.#browser.close();
    await this.#pages.close();
  }

  /**
   * Plays one scene in a world of its own. What the page throws fails it; how the page looked at the end is kept.
   *
   * @param {string} folder for data, logs and the last picture
   * @param {Preferences} preferences
   * @param {(world: World) => Promise<void>} scene
   */
  async play(folder, preferences, scene) {
    await mkdir(folder, { recursive: true });
    const upstream = await Upstream.start(this.#binaries, folder);
    const gateway = new Gateway(this.#binaries, folder);
    try {
      await gateway.start();
      // The server of pages asks for it at every request.
      process.env.OMNIROUTE_DATA_DIR = gateway.dataDir;
      await this.show(preferences, {}, async (page) => {
        try {
          await scene({ page, gateway, upstream, folder });
        } catch (error) {
          await page.screenshot({ path: join(folder, "at-the-end.png") });
          throw error;
        }
      });
    } finally {
      await gateway.stop();
      await upstream.stop();
    }
  }

  /**
   * A page of a profile of its own, for as long as `use` takes. What it throws fails the check.
   *
   * @param {Preferences} preferences what this person chose before
   * @param {BrowserContextOptions} options
   * @param {(page: Page) => Promise<void>} use
   */
  async show(preferences, options, use) {
    const context = await this.#browser.newContext({
      baseURL: this.#origin,
      viewport: ROOMY,
      locale: "en-GB",
      permissions: ["clipboard-read", "clipboard-write"],
      ...options,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    await context.addInitScript((chosen) => {
      const name = "omniroute.preferences";
      if (localStorage.getItem(name) === null) localStorage.setItem(name, JSON.stringify(chosen));
    }, preferences);
    /** @type {string[]} */
    const thrown = [];
    try {
      const page = await context.newPage();
      page.on("pageerror", (error) => thrown.push(error.message));
      await use(page);
    } finally {
      await context.close();
    }
    assert.deepEqual(thrown, [], "the page threw");
  }
}
