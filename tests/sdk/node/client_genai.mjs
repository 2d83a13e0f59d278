// The official Google Gen AI SDK.

import { ApiError, FunctionCallingConfigMode, GoogleGenAI } from "@google/genai";
import { filled, key, pdf, png, problem, reasonOf, schema, timeout, tools, url, warningsOf } from "./turns.mjs";

const finishes = { STOP: "stop", MAX_TOKENS: "length" };
const sdk = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, timeout, retryOptions: { attempts: 1 } } });

export const gemini = {
  name: "genai-node",
  dialect: "gemini",
  family: "genai",
  problem(error) {
    const known = error instanceof ApiError;
    // The SDK keeps the error's body as text in its message.
    const body = known ? readError(error.message) : {};
    return problem(
      error?.constructor?.name,
      known ? error.status : undefined,
      body.message ?? error?.message,
      body.status,
      reasonOf(body),
    );
  },
  async ask({ model, turns, options, stream }, heard) {
    const asked = { model, contents: turns.map(written), config: config(options) };
    const parts = [];
    if (stream) {
      for await (const chunk of await sdk.models.generateContentStream(asked)) parts.push(...read(chunk, heard));
    } else {
      parts.push(...read(await sdk.models.generateContent(asked), heard));
    }
    if (heard.calls.length > 0 && heard.finish === "stop") heard.finish = "tool_calls";
    heard.native = { role: "model", parts };
  },
};

function readError(message) {
  try {
    return JSON.parse(message.slice(message.indexOf("{"))).error ?? {};
  } catch {
    return {};
  }
}

function read(answer, heard) {
  heard.warnings = warningsOf(answer.sdkHttpResponse?.headers);
  const candidate = answer.candidates[0];
  const parts = candidate.content?.parts ?? [];
  for (const part of parts) {
    if (part.functionCall) {
      heard.calls.push({ id: part.functionCall.id, name: part.functionCall.name, arguments: part.functionCall.args });
    } else if (part.thought) {
      heard.reasoning += part.text ?? "";
    } else {
      heard.text += part.text ?? "";
    }
  }
  if (candidate.finishReason) heard.finish = finishes[candidate.finishReason];
  const figures = answer.usageMetadata;
  if (figures) {
    const reasoning = figures.thoughtsTokenCount ?? 0;
    heard.usage = {
      input: figures.promptTokenCount,
      output: (figures.candidatesTokenCount ?? 0) + reasoning,
      cached: figures.cachedContentTokenCount ?? 0,
      reasoning,
    };
  }
  return parts;
}

function config(options) {
  // Whole JSON Schemas; the Python client sends the SDK's own subset.
  const declarations = tools(options).map(([name, tool]) => ({
    name,
    description: tool.description,
    parametersJsonSchema: tool.parameters,
  }));
  const calling = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: [options.choice] };
  return filled({
    systemInstruction: options.system,
    maxOutputTokens: options.max,
    temperature: options.temperature,
    topK: options.topK,
    stopSequences: options.stop,
    tools: options.tools && [{ functionDeclarations: declarations }],
    toolConfig: options.choice && { functionCallingConfig: calling },
    thinkingConfig: options.reasoning && { includeThoughts: true, thinkingBudget: 1024 },
    responseMimeType: options.format && "application/json",
    responseJsonSchema: options.format && schema,
  });
}

function written(turn) {
  if (turn.said !== undefined) {
    const parts = [{ text: turn.said }];
    if (turn.image) parts.push({ inlineData: { mimeType: "image/png", data: png } });
    if (turn.document) parts.push({ inlineData: { mimeType: "application/pdf", data: pdf } });
    return { role: "user", parts };
  }
  if (turn.results) {
    const word = turn.failed ? "error" : "output";
    const parts = turn.results.map((text, index) => {
      const { id, name } = turn.calls[index];
      return { functionResponse: { id, name, response: { [word]: text } } };
    });
    return { role: "user", parts };
  }
  return turn.native;
}
