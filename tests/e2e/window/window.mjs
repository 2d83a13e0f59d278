/** The real desktop program, driven through WebDriver as a person would: by the words on the screen. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Builder, By, Capabilities, until } from "selenium-webdriver";
import { ownSecrets } from "../support/gateway.mjs";
import { freePort } from "../support/ports.mjs";
import { Program } from "../support/programs.mjs";
import { eventually } from "../support/wait.mjs";

/** A debug build on a busy machine shows nothing for seconds. */
const PATIENCE_MS = 60_000;

export class Window {
  /** @readonly */ dataDir;
  #driver;
  #session;

  /**
   * @param {Program} driver
   * @param {import("selenium-webdriver").WebDriver} session
   * @param {string} dataDir
   */
  constructor(driver, session, dataDir) {
    this.#driver = driver;
    this.#session = session;
    this.dataDir = dataDir;
  }

  /**
   * Starts the program as somebody who never used it: with a home and data of its own.
   *
   * @param {string} application absolute path
   * @param {string} folder for home, data and logs
   * @param {number} gatewayPort where its gateway is told to listen
   */
  static async open(application, folder, gatewayPort) {
    const home = join(folder, "home");
    const dataDir = join(folder, "data");
    await mkdir(home, { recursive: true });
    const port = await freePort();
    const args = ["--port", String(port), "--native-port", String(await freePort())];
    const driver = new Program("tauri-driver", [...args, "--native-driver", "/usr/bin/WebKitWebDriver"], {
      name: "tauri-driver",
      log: join(folder, "window.log"),
      // The driver hands its own surroundings down to the program.
      env: {
        ...ownSecrets,
        HOME: home,
        LANGUAGE: "en",
        XDG_CACHE_HOME: join(home, ".cache"),
        XDG_CONFIG_HOME: join(home, ".config"),
        XDG_DATA_HOME: join(home, ".local", "share"),
        OMNIROUTE_DATA_DIR: dataDir,
        OMNIROUTE_PORT: String(gatewayPort),
      },
    });
    try {
      const server = `http://127.0.0.1:${port}/`;
      await eventually("the driver listens", async () => (await fetch(`${server}status`)).ok);
      const capabilities = new Capabilities({ browserName: "wry", "tauri:options": { application } });
      const session = await new Builder().usingServer(server).withCapabilities(capabilities).build();
      return new Window(driver, session, dataDir);
    } catch (error) {
      await driver.stop();
      throw error;
    }
  }

  /** Ends the program too. */
  async close() {
    await this.#session.quit().catch(() => undefined);
    await this.#driver.stop();
  }

  /**
   * Waits until an element is there to be seen.
   *
   * @param {string} xpath
   */
  async see(xpath) {
    const element = await this.#session.wait(until.elementLocated(By.xpath(xpath)), PATIENCE_MS, `not found: ${xpath}`);
    await this.#session.wait(until.elementIsVisible(element), PATIENCE_MS, `not visible: ${xpath}`);
    return element;
  }

  /**
   * What an element says in full, also where the screen cuts it.
   *
   * @param {string} xpath
   */
  async textOf(xpath) {
    const element = await this.see(xpath);
    return (await element.getAttribute("textContent"))?.trim() ?? "";
  }

  /**
   * Waits for words on the screen.
   *
   * @param {string} text the beginning of an element's own text
   */
  words(text) {
    return this.see(`//*[text()[starts-with(normalize-space(.), ${quoted(text)})]]`);
  }

  /**
   * @param {"button" | "a"} kind
   * @param {string} text how what it says, or a part of it, begins
   */
  async press(kind, text) {
    const control = await this.see(`//${kind}[.//text()[starts-with(normalize-space(.), ${quoted(text)})]]`);
    await control.click();
  }

  /**
   * The control that a label belongs to.
   *
   * @param {string} label
   */
  async labelled(label) {
    const found = await this.see(`//label[starts-with(normalize-space(.), ${quoted(label)})]`);
    const id = await found.getAttribute("for");
    return this.see(`//*[@id=${quoted(id ?? "")}]`);
  }

  /**
   * @param {string} label
   * @param {string} text
   */
  async fill(label, text) {
    const input = await this.labelled(label);
    await input.clear();
    await input.sendKeys(text);
  }

  /** @param {string} file */
  async screenshot(file) {
    await writeFile(file, await this.#session.takeScreenshot(), "base64");
  }
}

/** @param {string} text without double quotes */
function quoted(text) {
  return `"${text}"`;
}
