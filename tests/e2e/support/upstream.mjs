/** The scripted provider, as a program. */
import { join } from "node:path";
import { Program } from "./programs.mjs";

/** The only key it accepts; everything else is answered with 401. */
export const PROVIDER_KEY = "sk-the-right-key-7Qx2";

/** A provider without a provider, in all four dialects. Knows the models of its preset: m1, m-reason, m-429, m-500, …. */
export class Upstream {
  /** @readonly */ origin;
  #program;

  /**
   * @param {Program} program
   * @param {string} origin
   */
  constructor(program, origin) {
    this.#program = program;
    this.origin = origin;
  }

  /**
   * @param {string} binaries folder of the built programs
   * @param {string} folder for its log
   */
  static async start(binaries, folder) {
    const args = ["--port", "0", "--preset", "sdk", "--key", PROVIDER_KEY];
    const program = new Program(join(binaries, "fake-upstream"), args, {
      name: "fake-upstream",
      log: join(folder, "upstream.log"),
    });
    const [origin] = await program.says(/http:\/\/127\.0\.0\.1:\d+/);
    return new Upstream(program, origin);
  }

  /**
   * Base URL for a provider of the catalogue.
   *
   * @param {string} provider
   */
  baseUrl(provider) {
    return `${this.origin}/${provider === "gemini" ? "v1beta" : "v1"}`;
  }

  stop() {
    return this.#program.stop();
  }
}
