/** Runs checks one after the other and says how each went. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** Every wait within a check has its own, shorter bound; this one is for what nobody thought of. */
const SLOWEST_CHECK_MS = 600_000;

/** Where a run leaves its screenshots and logs. */
const RESULTS = new URL("../../../test-results/", import.meta.url).pathname;

/**
 * One kind of checks: names what passed and failed and leaves the outcome in the exit code.
 */
export class Checks {
  /** @readonly */ folder;
  #wanted;
  #passed = 0;
  #failed = 0;

  /**
   * @param {string} kind names the folder of the artefacts
   * @param {string | undefined} wanted only checks whose name contains this are run
   */
  constructor(kind, wanted) {
    this.folder = join(RESULTS, kind);
    this.#wanted = wanted?.toLowerCase() ?? "";
  }

  /** Starts with an empty folder of artefacts. */
  async begin() {
    await rm(this.folder, { recursive: true, force: true });
    await mkdir(this.folder, { recursive: true });
  }

  /**
   * @param {string} name a sentence
   * @param {(folder: string) => Promise<void>} body gets the folder for what the check leaves behind
   */
  async check(name, body) {
    if (!name.toLowerCase().includes(this.#wanted)) return;
    const folder = join(this.folder, name.replaceAll(/[^a-z0-9]+/gi, "-").toLowerCase());
    const started = Date.now();
    try {
      await mkdir(folder, { recursive: true });
      await bounded(body(folder));
      await rm(folder, { recursive: true, force: true });
      this.#passed += 1;
      console.log(`PASS ${name} (${seconds(started)})`);
    } catch (error) {
      this.#failed += 1;
      console.log(`FAIL ${name}: ${why(error)} (${seconds(started)}, see ${folder})`);
      await writeFile(join(folder, "error.txt"), stripVTControlCharacters(inFull(error)));
    }
  }

  /** Ends the run; also what a check left undone. */
  finish() {
    console.log(`${this.#passed} passed, ${this.#failed} failed`);
    process.exit(this.#failed === 0 && this.#passed > 0 ? 0 : 1);
  }
}

/** @param {Promise<void>} body */
async function bounded(body) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${SLOWEST_CHECK_MS} ms`)), SLOWEST_CHECK_MS);
  });
  try {
    await Promise.race([body, late]);
  } finally {
    clearTimeout(timer);
  }
}

const LONGEST_REASON = 400;

/**
 * In one line.
 *
 * @param {unknown} error
 */
function why(error) {
  const text = stripVTControlCharacters(error instanceof Error ? error.message : String(error));
  const line = text.replace("Call log:", "").replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}

/** @param {unknown} error */
function inFull(error) {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** @param {number} since */
function seconds(since) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
