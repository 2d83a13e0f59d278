// Every Node client over upstreams of every dialect: the cases of `cases.json`.
//
// Prints one line of tab-separated fields per client, case and upstream, which `tests/sdk/table.mjs` makes a table of, and
// `complete` at the end.
// Names of clients, upstreams or cases on the command line run only those.

import { isDeepStrictEqual } from "node:util";
import { clients as aiClients } from "./client_ai.mjs";
import { messages } from "./client_anthropic.mjs";
import { gemini } from "./client_genai.mjs";
import { chat, responses } from "./client_openai.mjs";
import { book, newReply } from "./turns.mjs";

const clients = [chat, responses, messages, gemini, ...aiClients];
/** What a model's name begins with. Gemini 3 is the stricter kind of Gemini; `openai` is the maker of Responses itself. */
const upstreams = {
  chat: "up-chat/",
  responses: "up-responses/",
  openai: "codex/",
  messages: "anthropic/",
  gemini: "gemini/gemini-3-",
};
const dialectOf = (upstream) => (upstream === "openai" ? "responses" : upstream);
const verbose = process.argv.includes("-v");
const wanted = process.argv.slice(2).filter((word) => word !== "-v");

for (const client of clients) {
  for (const upstream of Object.keys(upstreams)) {
    for (const [one, mode] of casesOf(client, upstream)) {
      const label = mode === "whole" ? one.name : `${one.name} streamed`;
      if (!wanted.every((word) => [client.name, upstream, one.name].includes(word))) continue;
      const started = performance.now();
      const why = await run(client, upstream, one, mode === "stream");
      const took = Math.round(performance.now() - started);
      console.log([client.name, label, upstream, took, why ? `FAIL ${oneLine(why)}` : "PASS"].join("\t"));
      if (why) process.exitCode = 1;
    }
  }
}

console.log("complete");

function casesOf(client, upstream) {
  const has = (names, name) => !names || names.includes(name);
  const own = book.cases.filter((one) => has(one.only, client.name) && has(one.upstreams, upstream));
  return own.flatMap((one) => (one.modes ?? ["whole", "stream"]).map((mode) => [one, mode]));
}

/** Why the case failed. */
async function run(client, upstream, one, stream) {
  const turns = [];
  for (const [index, step] of one.steps.entries()) {
    const where = one.steps.length > 1 ? `step ${index + 1}: ` : "";
    const expected = outcome(client, upstream, step);
    turns.push(nextTurn(step, turns));
    const prefix = step.account === "refused" ? `refused-${dialectOf(upstream)}/` : upstreams[upstream];
    const model = prefix + step.model.replace("{upstream}", dialectOf(upstream));
    const heard = newReply();
    const options = { ...one.ask, ...step.ask };
    const why = await attempt(client, dialectOf(upstream), { model, turns, options, stream }, expected, heard);
    if (why) return where + why;
    turns.push(heard);
  }
  return null;
}

/** What is expected here: the step, with the members that differ for this client or upstream. */
function outcome(client, upstream, step) {
  const includes = (names, ...own) => names === undefined || own.some((name) => [names].flat().includes(name));
  const fits = (entry) =>
    includes(entry.client, client.name, client.dialect) && includes(entry.upstream, upstream, dialectOf(upstream));
  return { ...step, ...(step.otherwise ?? []).find(fits) };
}

function nextTurn(step, turns) {
  if (step.say) {
    return { said: step.say === true ? book.question : step.say, image: step.image, document: step.document };
  }
  const results = step.results ?? [step.failure];
  return { results, calls: turns.at(-1).calls, failed: step.failure !== undefined, image: step.image };
}

async function attempt(client, upstream, asked, expected, heard) {
  try {
    await client.ask(asked, heard);
  } catch (error) {
    if (verbose) console.error(error);
    const problem = client.problem(error);
    if (expected.error) return differs(wantedWhole(client, upstream, expected.error), problem);
    if (!expected.breaks) return `${problem.kind} ${problem.status}: ${problem.message}`;
    if (!heard.text.startsWith(expected.breaks.after)) return `broke with ${error} after "${heard.text}"`;
    return differs(wantedMidway(client, expected.breaks), problem);
  }
  if (expected.error || expected.breaks) return `no exception, but "${heard.text}"`;
  return compare(expected, heard);
}

function wordOf(client, status) {
  return book.errors[status][client.dialect] ?? book.errors[status].type;
}

/**
 * The code that the client reads. In the client's own dialect an error has its maker's. Where that gave it none, it stays without
 * one in the very bytes of a fault found with the request, and has the usual one of its status where it is told anew; Google's
 * have none of their own.
 */
function codeOf(client, upstream, status, words) {
  if (client.dialect !== upstream) return words.code;
  const own = ["chat", "responses"].includes(client.dialect) ? words.own : null;
  const stays = status === 400 || status === 422 || client.dialect === "gemini";
  return stays ? own : (own ?? words.code);
}

/** The exception for an error instead of an answer. */
function wantedWhole(client, upstream, { status, says, codes }) {
  const words = book.errors[status];
  const kinds = { openai: words.openai, anthropic: words.anthropic, genai: "ApiError", ai: "AI_APICallError" };
  return { kind: kinds[client.family], status, word: wordOf(client, status), codes: codes ?? [codeOf(client, upstream, status, words)], says };
}

/** The exception for a stream that began well. */
function wantedMidway(client, { status, says, code }) {
  const shown = { status, word: wordOf(client, status), code, ...book.midway[client.name] };
  return { ...shown, codes: [shown.code], says };
}

function differs(wanted, problem) {
  const seen = `the exception is ${JSON.stringify(problem)}`;
  for (const name of ["kind", "status", "word"]) {
    if ((problem[name] ?? null) !== wanted[name]) return `${seen}, expected ${name} ${wanted[name]}`;
  }
  if (!wanted.codes.includes(problem.code ?? null)) return `${seen}, expected code ${wanted.codes}`;
  return problem.message.includes(wanted.says) ? null : `the error says "${problem.message}", expected "${wanted.says}"`;
}

function compare(expected, heard) {
  const calls = heard.calls.map((call) => [call.name, call.arguments]);
  for (const [name, value] of Object.entries({ ...heard, calls })) {
    const comparable = ["text", "reasoning", "calls", "finish"].includes(name) && name in expected;
    if (comparable && !isDeepStrictEqual(value, expected[name])) {
      return `${name} is ${JSON.stringify(value)}, expected ${JSON.stringify(expected[name])}`;
    }
  }
  for (const [name, count] of Object.entries(expected.usage ?? {})) {
    if (heard.usage[name] !== count) return `usage is ${JSON.stringify(heard.usage)}, expected ${name} ${count}`;
  }
  if (expected.warned && !heard.warnings?.includes(expected.warned)) {
    return `the warnings are ${heard.warnings}, expected ${expected.warned}`;
  }
  if (expected.json && !isDeepStrictEqual(JSON.parse(heard.text), expected.json)) return `the text is "${heard.text}"`;
  for (const [name, value] of Object.entries(expected.seen ?? {})) {
    const seen = JSON.parse(heard.text)[name] ?? null;
    if (!isDeepStrictEqual(seen, value)) {
      return `the upstream saw ${name} ${JSON.stringify(seen)}, expected ${JSON.stringify(value)}`;
    }
  }
  return null;
}

function oneLine(text) {
  return String(text).replaceAll(/\s+/g, " ");
}
