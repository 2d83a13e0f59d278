/** A provider under a check's own hand: it announces what it is told to, and holds its answers back until they are let go. */
import { once } from "node:events";
import { createServer } from "node:http";

/** @typedef {import("node:http").ServerResponse} Reply */

export class HeldProvider {
  #server;
  /** @type {Record<string, string>} */ #announces = {};
  /** @type {(() => void)[]} those that wait, the first first */ #held = [];
  #holds = false;
  /** @type {{ status: number, message: string } | null} */ #refusal = null;
  /** Calls so far. */
  calls = 0;

  constructor() {
    this.#server = createServer((request, reply) => {
      request.resume();
      request.once("end", () => void this.#answer(request.url ?? "", request.method ?? "", reply));
    });
  }

  static async start() {
    const provider = new HeldProvider();
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  /** Base URL for a provider of the catalogue that speaks Chat Completions or Messages. */
  get baseUrl() {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
  }

  /** How many wait for their answer. */
  get waiting() {
    return this.#held.length;
  }

  /**
   * With every answer from now on.
   *
   * @param {Record<string, string>} headers
   */
  announce(headers) {
    this.#announces = headers;
  }

  /**
   * From now on nobody is answered, in these words; with nothing, everybody is again.
   *
   * @param {{ status: number, message: string } | null} refusal
   */
  refuse(refusal) {
    this.#refusal = refusal;
  }

  /** From now on nobody is answered who is not let go. */
  hold() {
    this.#holds = true;
  }

  /** Answers the one that waits longest. */
  letOneGo() {
    this.#held.shift()?.();
  }

  async stop() {
    this.#holds = false;
    while (this.#held.length > 0) this.letOneGo();
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /**
   * @param {string} path
   * @param {string} method
   * @param {Reply} reply
   */
  async #answer(path, method, reply) {
    if (method === "GET") {
      reply.setHeader("content-type", "application/json");
      reply.end(JSON.stringify({ object: "list", data: [{ id: "m1", object: "model" }] }));
      return;
    }
    this.calls += 1;
    if (this.#holds) await new Promise((resolve) => this.#held.push(() => resolve(undefined)));
    if (this.#refusal) {
      const { status, message } = this.#refusal;
      reply.writeHead(status, { "content-type": "application/json", ...this.#announces });
      reply.end(JSON.stringify({ error: { message, type: "refused" } }));
      return;
    }
    reply.writeHead(200, { "content-type": "text/event-stream", ...this.#announces });
    reply.end(path.includes("/messages") ? messages() : chat());
  }
}

const WORDS = "Hello from the held provider";

function chat() {
  const chunk = (/** @type {object} */ delta, /** @type {string | null} */ finish = null) => ({
    id: "c1",
    object: "chat.completion.chunk",
    created: 0,
    model: "m1",
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const events = [chunk({ role: "assistant", content: WORDS }), chunk({}, "stop")];
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`;
}

function messages() {
  const usage = { input_tokens: 3, output_tokens: 1 };
  const message = { id: "m", type: "message", role: "assistant", model: "m1", content: [], stop_reason: null, usage };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: WORDS } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}
