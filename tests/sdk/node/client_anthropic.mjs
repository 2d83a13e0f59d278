// The official Anthropic SDK.

import Anthropic from "@anthropic-ai/sdk";
import { filled, key, pdf, png, problem, schema, timeout, tools, url, warningsOf } from "./turns.mjs";

const finishes = { end_turn: "stop", tool_use: "tool_calls", max_tokens: "length", stop_sequence: "stop" };
const most = 4096;
const sdk = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0, timeout });

export const messages = {
  name: "anthropic-node",
  dialect: "messages",
  family: "anthropic",
  problem(error) {
    const details = error?.error?.error ?? {};
    const status = error instanceof Anthropic.APIError ? error.status : undefined;
    const message = details.message ?? error?.message ?? "";
    return problem(error?.constructor?.name, status, message, details.type, details.code);
  },
  async ask({ model, turns, options, stream }, heard) {
    const body = filled({
      model,
      max_tokens: options.max ?? most,
      system: options.system && [{ type: "text", text: options.system, cache_control: { type: "ephemeral" } }],
      messages: turns.map(written),
      temperature: options.temperature,
      top_k: options.topK,
      stop_sequences: options.stop,
      thinking: options.reasoning && { type: "enabled", budget_tokens: 1024 },
      tools:
        options.tools &&
        tools(options).map(([name, tool]) => ({ name, description: tool.description, input_schema: tool.parameters })),
      tool_choice: options.choice && { type: "tool", name: options.choice },
      output_config: options.format && { format: { type: "json_schema", schema } },
    });
    let answer;
    if (stream) {
      const runner = sdk.messages.stream(body);
      for await (const event of runner) {
        if (event.delta?.type === "text_delta") heard.text += event.delta.text;
      }
      answer = await runner.finalMessage();
      heard.warnings = warningsOf(runner.response?.headers);
    } else {
      const { data, response } = await sdk.messages.create(body).withResponse();
      heard.warnings = warningsOf(response.headers);
      answer = data;
    }
    const of = (type) => answer.content.filter((block) => block.type === type);
    heard.text = of("text")
      .map((block) => block.text)
      .join("");
    heard.reasoning = of("thinking")
      .map((block) => block.thinking)
      .join("");
    heard.calls = of("tool_use").map((use) => ({ id: use.id, name: use.name, arguments: use.input }));
    heard.finish = finishes[answer.stop_reason];
    const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = answer.usage;
    const cached = cache_read_input_tokens ?? 0;
    const input = input_tokens + cached + (cache_creation_input_tokens ?? 0);
    heard.usage = { input, output: output_tokens, cached };
    heard.native = answer.content;
  },
};

const inline = (media_type, data) => ({ type: "base64", media_type, data });

function written(turn) {
  if (turn.said !== undefined) {
    const content = [{ type: "text", text: turn.said, cache_control: { type: "ephemeral" } }];
    if (turn.image) {
      const source = turn.image === "data" ? inline("image/png", png) : { type: "url", url: turn.image };
      content.push({ type: "image", source });
    }
    if (turn.document) content.push({ type: "document", source: inline("application/pdf", pdf) });
    return { role: "user", content };
  }
  if (turn.results) {
    const content = turn.results.map((text, index) => ({
      type: "tool_result",
      tool_use_id: turn.calls[index].id,
      content: [{ type: "text", text }, ...(turn.image ? [{ type: "image", source: inline("image/png", png) }] : [])],
      is_error: turn.failed,
    }));
    return { role: "user", content };
  }
  return { role: "assistant", content: turn.native };
}
