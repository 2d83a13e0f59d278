/** A headless gateway on a data folder of its own, and its management API. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Program } from "./programs.mjs";

/**
 * What the checks look at in a connection.
 *
 * @typedef {{ id: string, name: string, isActive: boolean, providerSpecificData: { baseUrl?: string }, rateLimitedUntil: string | null }} Connection
 */

/** What keeps a program's data away from the person's own. */
export const ownSecrets = /** @type {const} */ ({ OMNIROUTE_SECRET_STORE: "file" });

export class Gateway {
  /** @readonly */ dataDir;
  #binaries;
  #log;
  /** @type {Program | undefined} */ #program;
  #url = "";

  /**
   * @param {string} binaries
   * @param {string} folder
   */
  constructor(binaries, folder) {
    this.#binaries = binaries;
    this.#log = join(folder, "gateway.log");
    this.dataDir = join(folder, "data");
  }

  /**
   * @param {string} binaries folder of the built programs
   * @param {string} folder for its data and log
   */
  static async start(binaries, folder) {
    const gateway = new Gateway(binaries, folder);
    await gateway.start();
    return gateway;
  }

  /** Where agents reach it, without a path. */
  get url() {
    return this.#url;
  }

  /** Also starts it again after `stop`, on the same data. */
  async start() {
    const args = ["serve", "--port", "0", "--json"];
    this.#program = new Program(join(this.#binaries, "omniroute"), args, {
      name: "omniroute serve",
      log: this.#log,
      env: { ...ownSecrets, OMNIROUTE_DATA_DIR: this.dataDir },
    });
    const [, url = ""] = await this.#program.says(/"event":"listening".*"url":"(http:[^"]+)"/);
    this.#url = url;
  }

  async stop() {
    await this.#program?.stop();
  }

  /**
   * One operation of the management API.
   *
   * @param {"GET" | "POST" | "PATCH" | "PUT" | "DELETE"} method
   * @param {string} path below `/api`
   * @param {unknown} [body]
   * @returns {Promise<any>}
   */
  async call(method, path, body) {
    const { url } = JSON.parse(await readFile(join(this.dataDir, "gateway.json"), "utf8"));
    const token = (await readFile(join(this.dataDir, "management-token"), "utf8")).trim();
    const reply = await fetch(`${url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
    return reply.json();
  }

  /** From now on a request whose accounts all rest is answered at once, instead of waiting for the first of them. */
  async answerAtOnce() {
    await this.call("PATCH", "/resilience", {
      waitForCooldown: { enabled: false },
      comboCooldownWait: { enabled: false },
    });
  }

  /**
   * @param {string} provider
   * @param {string} name
   * @param {{ apiKey?: string, baseUrl?: string }} how
   * @returns {Promise<Connection>}
   */
  async connect(provider, name, { apiKey, baseUrl }) {
    const draft = {
      provider,
      name,
      ...(apiKey && { apiKey }),
      ...(baseUrl && { providerSpecificData: { baseUrl } }),
    };
    return (await this.call("POST", "/providers", draft)).connection;
  }

  /**
   * In the order they are asked.
   *
   * @param {string} provider
   * @returns {Promise<Connection[]>}
   */
  async connections(provider) {
    return (await this.call("GET", `/providers?provider=${provider}`)).connections;
  }

  /**
   * @param {string} name
   * @returns {Promise<string>} the key in plain text
   */
  async makeKey(name) {
    return (await this.call("POST", "/keys", { name })).key;
  }
}
