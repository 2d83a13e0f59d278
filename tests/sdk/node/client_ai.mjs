// The AI SDK with the providers that speak the four dialects.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, jsonSchema, Output, streamText, tool } from "ai";
import { filled, key, pdf, png, problem, reasonOf, schema, tools, url, warningsOf } from "./turns.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

const finishes = { stop: "stop", "tool-calls": "tool_calls", length: "length" };
const baseURL = `${url}/v1`;
const openai = createOpenAI({ baseURL, apiKey: key });
const anthropic = createAnthropic({ baseURL, apiKey: key });
const google = createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: key });
const compatible = createOpenAICompatible({
  name: "compatible",
  baseURL,
  apiKey: key,
  includeUsage: true,
  supportsStructuredOutputs: true,
});

/** `reasoning`: the provider's own option for thinking. */
function client(name, dialect, model, reasoning) {
  return {
    name,
    dialect,
    family: "ai",
    problem: explain,
    ask: (asked, heard) => ask(model(asked.model), reasoning, asked, heard),
  };
}

// The provider knows by a model's name what it can; here it is told.
const openaiReasoning = {
  openai: { store: false, forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto" },
};

export const clients = [
  client("ai-openai", "responses", (model) => openai.responses(model), openaiReasoning),
  client("ai-openai-chat", "chat", (model) => openai.chat(model), { openai: { reasoningEffort: "low" } }),
  client("ai-anthropic", "messages", (model) => anthropic(model), {
    anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
  }),
  client("ai-google", "gemini", (model) => google(model), {
    google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
  }),
  client("ai-compatible", "chat", (model) => compatible(model), { compatible: { reasoningEffort: "low" } }),
];

function explain(error) {
  const known = APICallError.isInstance(error);
  // Midway the SDK hands out what the stream said, as it came.
  const body = (known ? readError(error.responseBody ?? "") : error) ?? {};
  const code = typeof body.code === "string" ? body.code : reasonOf(body);
  const message = body.message ?? String(error?.message ?? error);
  return problem(error?.name, known ? error.statusCode : undefined, message, body.status ?? body.type, code);
}

function readError(text) {
  try {
    return JSON.parse(text).error ?? {};
  } catch {
    return {};
  }
}

async function ask(model, reasoning, { turns, options, stream }, heard) {
  const toolSet = tools(options).map(([name, { description, parameters }]) => [
    name,
    tool({ description, inputSchema: jsonSchema(parameters) }),
  ]);
  const request = filled({
    model,
    maxRetries: 0,
    system: options.system,
    messages: turns.flatMap(written),
    maxOutputTokens: options.max,
    temperature: options.temperature,
    topK: options.topK,
    stopSequences: options.stop,
    tools: options.tools && Object.fromEntries(toolSet),
    toolChoice: options.choice && { type: "tool", toolName: options.choice },
    output: options.format && Output.object({ schema: jsonSchema(schema) }),
    providerOptions: options.reasoning && reasoning,
  });
  const answer = stream ? await streamed(request, heard) : await generateText(request);
  heard.text = await answer.text;
  heard.reasoning = (await answer.reasoningText) ?? "";
  const calls = await answer.toolCalls;
  heard.calls = calls.map((call) => ({ id: call.toolCallId, name: call.toolName, arguments: call.input }));
  heard.finish = finishes[await answer.finishReason];
  const usage = await answer.usage;
  heard.usage = {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cached: usage.inputTokenDetails.cacheReadTokens ?? 0,
    reasoning: usage.outputTokenDetails.reasoningTokens,
  };
  const response = await answer.response;
  heard.native = response.messages;
  heard.warnings = warningsOf(response.headers);
}

async function streamed(request, heard) {
  const answer = streamText({ ...request, onError: () => {} });
  for await (const part of answer.fullStream) {
    if (part.type === "text-delta") heard.text += part.text;
    if (part.type === "error") throw part.error;
  }
  return answer;
}

function written(turn) {
  if (turn.said !== undefined) {
    const content = [{ type: "text", text: turn.said }];
    if (turn.image === "data") content.push({ type: "image", image: png, mediaType: "image/png" });
    else if (turn.image) content.push({ type: "image", image: new URL(turn.image) });
    if (turn.document) content.push({ type: "file", data: pdf, mediaType: "application/pdf", filename: "a.pdf" });
    return [{ role: "user", content }];
  }
  if (turn.results) {
    const content = turn.results.map((value, index) => ({
      type: "tool-result",
      toolCallId: turn.calls[index].id,
      toolName: turn.calls[index].name,
      output: { type: turn.failed ? "error-text" : "text", value },
    }));
    return [{ role: "tool", content }];
  }
  return turn.native;
}
