// A conversation in words of no dialect: what a case asks, what an SDK heard. The clients translate both ways.
//
// A turn is `{ said, image, document }`, `{ results, calls, failed }` or a reply. `image` stands with results too. A reply has `text`, `reasoning`, `calls`
// of `{ id, name, arguments }`, `finish`, `usage`, in `native` what the SDK wants back as the assistant's turn, and in
// `warnings` the header with what a translation left out or changed.

import { readFileSync } from "node:fs";

export const book = JSON.parse(readFileSync(new URL("../cases.json", import.meta.url), "utf8"));
export const { png, pdf, schema } = book;

export const url = required("OMNIROUTE_URL").replace(/\/+$/, "");
export const key = required("OMNIROUTE_KEY");
/** The longest that an SDK waits for anything, in milliseconds. */
export const timeout = 30_000;

/** The tools of a case as `[name, { description, parameters }]`. */
export const tools = (options) => (options.tools ?? []).map((name) => [name, book.tools[name]]);

export const newReply = () => ({ text: "", reasoning: "", calls: [], finish: null, usage: {}, native: null, warnings: null });

/** The header with what a translation left out or changed. */
export const warningsOf = (headers) =>
  typeof headers?.get === "function" ? headers.get("x-omniroute-warnings") : (headers?.["x-omniroute-warnings"] ?? null);

/** Without members that say nothing. */
export const filled = (object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));

/**
 * A typed exception: its class, the status, and the words for it in the error's body. `word` is what the SDK sorts errors
 * by, `type` or Gemini's `status`; `code` the stable word, in Gemini the reason.
 */
export const problem = (kind, status, message, word, code) => ({ kind, status, message, word, code });

/** The reason among the details of an error of Gemini's. */
export const reasonOf = (error) => error?.details?.find?.((detail) => detail.reason)?.reason;

let lastHeaders = null;

/** `fetch`, for SDKs whose helpers for streams do not show the reply's headers. */
export async function watchedFetch(...request) {
  const response = await fetch(...request);
  lastHeaders = response.headers;
  return response;
}

/** The header with what a translation left out or changed, of the last reply that came through `watchedFetch`. */
export const lastWarnings = () => warningsOf(lastHeaders);

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}
