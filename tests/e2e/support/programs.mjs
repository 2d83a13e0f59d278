/** Programs a test starts. Each is the head of a process group of its own and is ended through it, whatever happens. */
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { eventually } from "./wait.mjs";

const STOP_WITHIN_MS = 10_000;

/** @type {Set<Program>} */
const running = new Set();

/** A started program: what it printed so far, and the way to end it. */
export class Program {
  /** @readonly */ name;
  /** Both of its streams, as printed. */
  output = "";
  /** @type {import("node:child_process").ChildProcess} */ #child;
  #ended = false;

  /**
   * @param {string} program
   * @param {readonly string[]} args
   * @param {{ name: string, log: string, env?: Record<string, string> }} options `log` is a file the output is kept in
   */
  constructor(program, args, { name, log, env = {} }) {
    this.name = name;
    const child = spawn(program, args, {
      detached: true,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const file = createWriteStream(log, { flags: "a" });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (/** @type {string} */ text) => {
        this.output += text;
        file.write(text);
      });
    }
    child.on("error", (error) => {
      this.output += error.message;
      this.#gone();
    });
    child.on("exit", () => this.#gone());
    this.#child = child;
    running.add(this);
  }

  /**
   * Waits until the output holds the pattern.
   *
   * @param {RegExp} pattern
   * @returns {Promise<RegExpExecArray>}
   */
  async says(pattern) {
    return eventually(`${this.name} says ${pattern}`, () => {
      const found = pattern.exec(this.output);
      if (!found && this.#ended) throw new Error(`it ended: ${this.output.slice(-500)}`);
      return found;
    });
  }

  /** Asks it to end, waits, and insists when it does not. */
  async stop() {
    this.signal("SIGTERM");
    await eventually(`${this.name} ends`, () => this.#ended, STOP_WITHIN_MS).catch(() => undefined);
    // Also what it left behind in its group.
    this.signal("SIGKILL");
    await eventually(`${this.name} is ended`, () => this.#ended);
    running.delete(this);
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Nobody of the group is left.
    }
  }

  #gone() {
    this.#ended = true;
  }
}

process.on("exit", () => {
  for (const program of running) program.signal("SIGKILL");
});
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, () => process.exit(1));
