// The official OpenAI SDK: Chat Completions and Responses.

import OpenAI from "openai";
import { filled, key, lastWarnings, pdf, png, problem, schema, timeout, tools, url, warningsOf, watchedFetch } from "./turns.mjs";

const finishes = { stop: "stop", tool_calls: "tool_calls", length: "length" };
const sdk = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout, fetch: watchedFetch });

function explain(error) {
  const known = error instanceof OpenAI.APIError;
  const message = error?.error?.message ?? error?.message ?? "";
  return problem(error?.constructor?.name, known ? error.status : undefined, message, error?.type, error?.code);
}

const parsed = (call) => ({ id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) });

export const chat = {
  name: "openai-node-chat",
  dialect: "chat",
  family: "openai",
  problem: explain,
  async ask({ model, turns, options, stream }, heard) {
    const body = filled({
      model,
      messages: chatMessages(turns, options),
      max_completion_tokens: options.max,
      temperature: options.temperature,
      stop: options.stop,
      top_k: options.topK,
      reasoning_effort: options.reasoning,
      tools: options.tools && tools(options).map(([name, tool]) => ({ type: "function", function: { name, ...tool } })),
      tool_choice: options.choice && { type: "function", function: { name: options.choice } },
      response_format: options.format && { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
    });
    let answer;
    if (stream) {
      // The SDK's own accumulator has to agree with what its events said.
      const runner = sdk.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
      runner.on("chunk", (chunk) => {
        for (const choice of chunk.choices) {
          heard.text += choice.delta.content ?? "";
          heard.reasoning += choice.delta.reasoning_content ?? "";
        }
      });
      answer = await runner.finalChatCompletion();
      heard.warnings = lastWarnings();
      if ((answer.choices[0].message.content ?? "") !== heard.text) throw new Error("the pieces are not the whole");
    } else {
      const { data, response } = await sdk.chat.completions.create(body).withResponse();
      heard.warnings = warningsOf(response.headers);
      answer = data;
    }
    const { message, finish_reason: finish } = answer.choices[0];
    heard.text = message.content ?? "";
    // The accumulator keeps the last piece of members it does not know.
    heard.reasoning ||= message.reasoning_content ?? "";
    heard.calls = (message.tool_calls ?? []).map(parsed);
    heard.finish = finishes[finish];
    heard.usage = {
      input: answer.usage.prompt_tokens,
      output: answer.usage.completion_tokens,
      cached: answer.usage.prompt_tokens_details?.cached_tokens,
      reasoning: answer.usage.completion_tokens_details?.reasoning_tokens,
    };
    heard.native = message;
  },
};

function chatMessages(turns, options) {
  const messages = options.system ? [{ role: "developer", content: options.system }] : [];
  for (const turn of turns) {
    if (turn.said !== undefined) {
      const content = [{ type: "text", text: turn.said }];
      const image = turn.image === "data" ? `data:image/png;base64,${png}` : turn.image;
      if (image) content.push({ type: "image_url", image_url: { url: image } });
      if (turn.document) {
        const file = { filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` };
        content.push({ type: "file", file });
      }
      messages.push({ role: "user", content });
    } else if (turn.results) {
      turn.results.forEach((text, index) => {
        const content = [{ type: "text", text: `${turn.failed ? "Error: " : ""}${text}` }];
        messages.push({ role: "tool", tool_call_id: turn.calls[index].id, content });
      });
    } else {
      const { role, content, tool_calls } = turn.native;
      messages.push(filled({ role, content, tool_calls: tool_calls?.map(plainCall) }));
    }
  }
  return messages;
}

/** A call without what the SDK's accumulator adds to it. */
function plainCall({ id, type, function: { name, arguments: input } }) {
  return { id, type, function: { name, arguments: input } };
}

/** The SDK hands a failed response out as an event: this is one, with what it says. */
class ResponseFailed extends Error {
  constructor({ code, message }) {
    super(message);
    this.code = code;
  }
}

export const responses = {
  name: "openai-node-responses",
  dialect: "responses",
  family: "openai",
  problem: explain,
  async ask({ model, turns, options, stream }, heard) {
    const body = filled({
      model,
      input: turns.flatMap(responseItems),
      instructions: options.system,
      max_output_tokens: options.max,
      temperature: options.temperature,
      reasoning: options.reasoning && { effort: options.reasoning, summary: "auto" },
      tools:
        options.tools && tools(options).map(([name, tool]) => ({ type: "function", name, strict: false, ...tool })),
      tool_choice: options.choice && { type: "function", name: options.choice },
      text: options.format && { format: { type: "json_schema", name: "place", schema, strict: true } },
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    const answer = stream ? await lastOf(body, heard) : await whole(body, heard);
    heard.text = answer.output_text;
    for (const item of answer.output) {
      if (item.type === "reasoning") heard.reasoning += item.summary.map((part) => part.text).join("");
      if (item.type === "function_call") {
        heard.calls.push({ id: item.call_id, name: item.name, arguments: JSON.parse(item.arguments) });
      }
    }
    heard.finish = heard.calls.length > 0 ? "tool_calls" : "stop";
    if (answer.incomplete_details?.reason === "max_output_tokens") heard.finish = "length";
    heard.usage = {
      input: answer.usage.input_tokens,
      output: answer.usage.output_tokens,
      cached: answer.usage.input_tokens_details.cached_tokens,
      reasoning: answer.usage.output_tokens_details.reasoning_tokens,
    };
    heard.native = answer.output;
  },
};

async function whole(body, heard) {
  const { data, response } = await sdk.responses.create(body).withResponse();
  heard.warnings = warningsOf(response.headers);
  return data;
}

/** The answer that a stream ends in. The SDK's helper builds it from the events and fails when they do not fit. */
async function lastOf(body, heard) {
  const stream = sdk.responses.stream(body);
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") heard.text += event.delta;
    if (event.type === "response.failed") throw new ResponseFailed(event.response.error);
  }
  const answer = await stream.finalResponse();
  heard.warnings = lastWarnings();
  if (answer.output_text !== heard.text) throw new Error("the pieces are not the whole");
  return answer;
}

function responseItems(turn) {
  if (turn.said !== undefined) {
    const content = [{ type: "input_text", text: turn.said }];
    const image = turn.image === "data" ? `data:image/png;base64,${png}` : turn.image;
    if (image) content.push({ type: "input_image", image_url: image, detail: "auto" });
    if (turn.document) {
      content.push({ type: "input_file", filename: "a.pdf", file_data: `data:application/pdf;base64,${pdf}` });
    }
    return [{ type: "message", role: "user", content }];
  }
  if (turn.results) {
    return turn.results.map((text, index) => {
      const said = `${turn.failed ? "Error: " : ""}${text}`;
      const picture = { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "auto" };
      const output = turn.image ? [{ type: "input_text", text: said }, picture] : said;
      return { type: "function_call_output", call_id: turn.calls[index].id, output };
    });
  }
  // What the helper adds for its own use does not go back.
  return turn.native.map(({ parsed_arguments, ...item }) => ({
    ...item,
    ...(item.content && { content: item.content.map(({ parsed, ...part }) => part) }),
  }));
}
