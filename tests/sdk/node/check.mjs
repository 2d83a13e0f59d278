// The official JavaScript SDKs against a gateway: OpenAI (Chat Completions, Responses, embeddings), Anthropic, Gemini.
//
// Environment: OMNIROUTE_URL, OMNIROUTE_KEY, MODEL (default m1). One line per case; exits with 1 when any failed.
// Names of cases, or of an SDK (`openai`), on the command line run only those.

import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const url = required("OMNIROUTE_URL").replace(/\/+$/, "");
const key = required("OMNIROUTE_KEY");
const plainModel = process.env.MODEL ?? "m1";
const wrongKey = `${key}-wrong`;
const question = "What is the weather like?";
const hello = "Hello from the fake upstream";
const weather = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

const openai = (apiKey = key) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0, timeout: 30_000 });
const anthropic = (apiKey = key) => new Anthropic({ baseURL: url, apiKey, maxRetries: 0, timeout: 30_000 });
const genai = (apiKey = key) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url, timeout: 30_000, retryOptions: { attempts: 1 } } });

const messages = [{ role: "user", content: question }];
const chatTools = [{ type: "function", function: { name: "get_weather", parameters: weather } }];
const responsesTools = [{ type: "function", name: "get_weather", parameters: weather, strict: false }];
const anthropicTools = [{ name: "get_weather", input_schema: weather }];
const geminiTools = [{ functionDeclarations: [{ name: "get_weather", parametersJsonSchema: weather }] }];

const chat = (model, options = {}, apiKey = key) =>
  openai(apiKey).chat.completions.create({ model, messages, ...options });
const respond = (model, options = {}, apiKey = key) =>
  openai(apiKey).responses.create({ model, input: question, ...options });
const message = (model, options = {}, apiKey = key) =>
  anthropic(apiKey).messages.create({ model, max_tokens: 1024, messages, ...options });
const generate = (model, options = {}, apiKey = key) =>
  genai(apiKey).models.generateContent({ model, contents: question, ...options });

const cases = {
  "openai.chat_plain": async () => {
    const answer = await chat(plainModel);
    assert.equal(answer.choices[0].message.content, hello);
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.equal(answer.usage.total_tokens, 19);
  },
  "openai.chat_streamed": async () => {
    const chunks = await all(chat(plainModel, { stream: true, stream_options: { include_usage: true } }));
    const texts = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta.content ?? "")).filter(Boolean);
    assert.equal(texts.join(""), hello);
    assert.ok(texts.length > 1, "the text came in one piece");
    assert.deepEqual(
      chunks.filter((chunk) => chunk.usage).map((chunk) => chunk.usage.total_tokens),
      [19],
    );
  },
  "openai.chat_tool_round_trip": async () => {
    const model = beside("m-tool");
    const first = (await chat(model, { tools: chatTools })).choices[0];
    assert.equal(first.finish_reason, "tool_calls");
    assert.deepEqual(JSON.parse(first.message.tool_calls[0].function.arguments), { city: "Berlin" });
    const result = { role: "tool", tool_call_id: first.message.tool_calls[0].id, content: "21 degrees" };
    const second = await chat(model, { tools: chatTools, messages: [...messages, first.message, result] });
    assert.equal(second.choices[0].message.content, "The tool said: 21 degrees");
  },
  "openai.chat_parallel_tools_streamed": async () => {
    const runner = openai().chat.completions.stream({ model: beside("m-tools"), messages, tools: chatTools });
    const { tool_calls: calls } = (await runner.finalChatCompletion()).choices[0].message;
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.function.arguments).city),
      ["Berlin", "Paris"],
    );
  },
  "openai.chat_reasoning": async () => {
    const answer = (await chat(beside("m-reason"))).choices[0].message;
    assert.equal(answer.reasoning_content, "Six times seven is forty-two");
    assert.equal(answer.content, "The answer is 42");
  },
  "openai.chat_errors": () => openaiErrors(chat),
  "openai.responses_plain": async () => {
    const answer = await respond(plainModel);
    assert.equal(answer.output_text, hello);
    assert.deepEqual([answer.usage.input_tokens, answer.usage.output_tokens], [12, 7]);
  },
  "openai.responses_streamed": async () => {
    const events = await all(respond(plainModel, { stream: true }));
    assert.deepEqual(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
    );
    const texts = events.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta);
    assert.equal(texts.join(""), hello);
    assert.equal(events.at(-1).type, "response.completed");
  },
  "openai.responses_tool_round_trip": async () => {
    const model = beside("m-tool");
    const first = await respond(model, { tools: responsesTools, store: false });
    const call = first.output.find((item) => item.type === "function_call");
    assert.deepEqual(JSON.parse(call.arguments), { city: "Berlin" });
    const output = { type: "function_call_output", call_id: call.call_id, output: "21 degrees" };
    const input = [...messages, ...first.output, output];
    const second = await respond(model, { tools: responsesTools, store: false, input });
    assert.equal(second.output_text, "The tool said: 21 degrees");
  },
  "openai.responses_parallel_tools_streamed": async () => {
    const stream = openai().responses.stream({ model: beside("m-tools"), input: question, tools: responsesTools });
    const calls = (await stream.finalResponse()).output.filter((item) => item.type === "function_call");
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.arguments).city),
      ["Berlin", "Paris"],
    );
  },
  "openai.responses_reasoning": async () => {
    const answer = await respond(beside("m-reason"), { reasoning: { summary: "auto" } });
    assert.equal(
      answer.output.find((item) => item.type === "reasoning").summary[0].text,
      "Six times seven is forty-two",
    );
    assert.equal(answer.output_text, "The answer is 42");
  },
  "openai.responses_errors": () => openaiErrors(respond),
  "openai.models_list": async () => {
    const names = (await all(openai().models.list())).map((model) => model.id);
    assert.ok(names.includes(plainModel), `${plainModel} is not among ${names}`);
  },
  "openai.embeddings": async () => {
    const answer = await openai().embeddings.create({ model: plainModel, input: ["one", "two"] });
    assert.deepEqual(
      answer.data.map((entry) => entry.embedding.length),
      [8, 8],
    );
    assert.deepEqual([...answer.data[1].embedding].slice(0, 3), [0, 1, 0]);
    assert.ok(answer.usage.total_tokens > 0);
  },

  "anthropic.plain": async () => {
    const answer = await message(plainModel);
    assert.equal(textOf(answer), hello);
    assert.equal(answer.stop_reason, "end_turn");
  },
  "anthropic.usage": async () => {
    const { usage } = await message(beside("m-cached"));
    assert.deepEqual([usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens], [20, 100, 7]);
  },
  "anthropic.streamed": async () => {
    const events = await all(message(plainModel, { stream: true }));
    const texts = events.filter((event) => event.type === "content_block_delta").map((event) => event.delta.text);
    assert.equal(texts.join(""), hello);
    assert.equal(events[0].type, "message_start");
    assert.equal(events.at(-1).type, "message_stop");
  },
  "anthropic.tool_round_trip": async () => {
    const model = beside("m-tool");
    const first = await message(model, { tools: anthropicTools });
    const use = first.content.find((block) => block.type === "tool_use");
    assert.deepEqual([first.stop_reason, use.input], ["tool_use", { city: "Berlin" }]);
    const result = { type: "tool_result", tool_use_id: use.id, content: "21 degrees" };
    const turns = [...messages, { role: "assistant", content: first.content }, { role: "user", content: [result] }];
    const second = await message(model, { tools: anthropicTools, messages: turns });
    assert.equal(textOf(second), "The tool said: 21 degrees");
  },
  "anthropic.parallel_tools_streamed": async () => {
    const stream = anthropic().messages.stream({
      model: beside("m-tools"),
      max_tokens: 1024,
      messages,
      tools: anthropicTools,
    });
    const uses = (await stream.finalMessage()).content.filter((block) => block.type === "tool_use");
    assert.deepEqual(
      uses.map((use) => use.input.city),
      ["Berlin", "Paris"],
    );
  },
  "anthropic.thinking_streamed": async () => {
    const stream = anthropic().messages.stream({ model: beside("m-reason"), max_tokens: 1024, messages });
    const answer = await stream.finalMessage();
    assert.equal(answer.content[0].thinking, "Six times seven is forty-two");
    assert.ok(answer.content[0].signature, "the signature is missing");
    assert.equal(textOf(answer), "The answer is 42");
  },
  "anthropic.count_tokens": async () => {
    const count = await anthropic().messages.countTokens({ model: plainModel, messages });
    assert.ok(count.input_tokens > 0);
  },
  "anthropic.models_list": async () => {
    const names = (await all(anthropic().models.list())).map((model) => model.id);
    assert.ok(names.includes(plainModel), `${plainModel} is not among ${names}`);
  },
  "anthropic.errors": async () => {
    await fails(Anthropic.NotFoundError, 404, () => message(beside("no-such-model")));
    await fails(Anthropic.AuthenticationError, 401, () => message(plainModel, {}, wrongKey));
    await fails(Anthropic.RateLimitError, 429, () => message(beside("m-429")));
    await fails(Anthropic.InternalServerError, undefined, () => message(beside("m-500")));
  },

  "genai.plain": async () => {
    const answer = await generate(plainModel);
    assert.equal(answer.text, hello);
    assert.equal(answer.candidates[0].finishReason, "STOP");
    assert.equal(answer.usageMetadata.totalTokenCount, 19);
  },
  "genai.streamed": async () => {
    const chunks = await all(genai().models.generateContentStream({ model: plainModel, contents: question }));
    assert.equal(chunks.map((chunk) => chunk.text ?? "").join(""), hello);
    assert.ok(chunks.length > 1, "the text came in one piece");
    assert.equal(chunks.at(-1).usageMetadata.candidatesTokenCount, 7);
  },
  "genai.tool_round_trip": async () => {
    const model = beside("m-tool");
    const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } };
    const config = { tools: geminiTools, toolConfig };
    const first = await generate(model, { config });
    const [call] = first.functionCalls;
    assert.deepEqual(call.args, { city: "Berlin" });
    const functionResponse = { id: call.id, name: call.name, response: { output: "21 degrees" } };
    const contents = [
      { role: "user", parts: [{ text: question }] },
      first.candidates[0].content,
      { role: "user", parts: [{ functionResponse }] },
    ];
    const second = await generate(model, { config, contents });
    assert.equal(second.text, "The tool said: 21 degrees");
  },
  "genai.thinking": async () => {
    const answer = await generate(beside("m-reason"), { config: { thinkingConfig: { includeThoughts: true } } });
    const thoughts = answer.candidates[0].content.parts.filter((part) => part.thought).map((part) => part.text);
    assert.deepEqual(thoughts, ["Six times seven is forty-two"]);
    assert.equal(answer.text, "The answer is 42");
  },
  "genai.count_tokens": async () => {
    const count = await genai().models.countTokens({ model: plainModel, contents: question });
    assert.ok(count.totalTokens > 0);
  },
  "genai.models_list": async () => {
    const names = (await all(genai().models.list())).map((model) => model.name);
    assert.ok(names.includes(`models/${plainModel}`), `${plainModel} is not among ${names}`);
  },
  "genai.errors": async () => {
    await fails(ApiError, 404, () => generate(beside("no-such-model")));
    await fails(ApiError, 401, () => generate(plainModel, {}, wrongKey));
    await fails(ApiError, 429, () => generate(beside("m-429")));
    await fails(ApiError, undefined, () => generate(beside("m-500")));
  },
};

async function openaiErrors(ask) {
  await fails(OpenAI.NotFoundError, 404, () => ask(beside("no-such-model")));
  await fails(OpenAI.AuthenticationError, 401, () => ask(plainModel, {}, wrongKey));
  await fails(OpenAI.RateLimitError, 429, () => ask(beside("m-429")));
  await fails(OpenAI.InternalServerError, undefined, () => ask(beside("m-500")));
}

/** The call must reject with this class; without a status, with any of 500 and above. */
async function fails(kind, status, call) {
  const error = await call().then(
    () => assert.fail(`answered, expected ${kind.name}`),
    (reason) => reason,
  );
  assert.ok(error instanceof kind, `failed with ${error?.constructor?.name}: ${error?.message}, expected ${kind.name}`);
  if (status === undefined) {
    assert.ok(error.status >= 500, `status ${error.status}, expected 500 or above`);
  } else {
    assert.equal(error.status, status);
  }
}

/** A model beside MODEL: `m-tool` next to `fake/m1` is `fake/m-tool`. */
function beside(name) {
  return plainModel.slice(0, plainModel.lastIndexOf("/") + 1) + name;
}

async function all(stream) {
  const items = [];
  for await (const item of await stream) {
    items.push(item);
  }
  return items;
}

function textOf(answer) {
  return answer.content.map((block) => block.text ?? "").join("");
}

function required(name) {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set`);
  }
  return value;
}

const wanted = process.argv.slice(2);
for (const [name, check] of Object.entries(cases)) {
  if (wanted.length > 0 && !wanted.some((word) => name === word || name.startsWith(`${word}.`))) {
    continue;
  }
  try {
    await check();
    console.log(`PASS ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}: ${String(error?.message ?? error).replaceAll(/\s+/g, " ")}`);
    process.exitCode = 1;
  }
}
