import { describe, expect, it } from "vitest";
import { attempt, request } from "@/test/world";
import { agentName } from "./agent-name";
import { globMatches } from "./glob";
import { requestCurl } from "./request-curl";
import { phasesOf, servedOtherwise, waitsOf } from "./request-story";

const phases = (part: Parameters<typeof attempt>[1]) =>
  phasesOf(attempt(1, part)).map(({ name, ms, end }) => `${name} ${ms}${end ? ` ${end}` : ""}`);

describe("the phases of an attempt", () => {
  it.each([
    ["a streamed answer", {}, ["connecting 120", "waiting 290", "streaming 830"]],
    ["one that queued first", { queuedMs: 20 }, ["queued 20", "connecting 100", "waiting 290", "streaming 830"]],
    [
      "a refusal, which comes with the head",
      { status: 429, kind: "rate_limit", firstTokenMs: null, connectMs: 1_239 },
      ["connecting 1240 failed"],
    ],
    [
      "nobody there",
      { status: null, kind: "unreachable", connectMs: null, firstTokenMs: null },
      ["connecting 1240 failed"],
    ],
    ["silence after the head", { kind: "stream_cut", firstTokenMs: null }, ["connecting 120", "waiting 1120 failed"]],
    ["a client that left", { kind: "client_aborted" }, ["connecting 120", "waiting 290", "streaming 830 left"]],
    ["no time at all", { connectMs: 0, firstTokenMs: 0, durationMs: 0 }, ["streaming 0"]],
  ])("%s", (_, part, expected) => expect(phases(part)).toEqual(expected));
});

describe("the model served", () => {
  it.each([
    ["anthropic/claude-sonnet-4-6", null],
    ["fast", "anthropic/claude-sonnet-4-6"],
    ["claude-sonnet-4-6", "anthropic"],
    ["qtSd/team/anthropic/claude-sonnet-4-6", null],
  ])("behind %s is %s", (requestedModel, served) =>
    expect(servedOtherwise(request("r", { requestedModel }))).toBe(served),
  );
});

describe("the name of an agent", () => {
  it.each([
    ["claude-cli", "Claude Code"],
    ["codex_cli_rs", "Codex"],
    ["GeminiCLI-tui", "Gemini CLI"],
    ["OpenAI", "OpenAI SDK"],
    ["my-own-tool", "my-own-tool"],
  ])("%s is %s", (product, name) => expect(agentName(product)).toBe(name));
});

describe("the waits before attempts", () => {
  const at = (ms: number) => new Date(Date.parse("2026-01-01T00:00:00Z") + ms).toISOString();
  it.each([
    [
      "none, when each follows the one before",
      [
        [20, 500],
        [530, 500],
      ],
      [0, 0],
    ],
    ["one before the first", [[3_000, 500]], [3_000]],
    [
      "one between two",
      [
        [0, 500],
        [2_500, 500],
      ],
      [0, 2_000],
    ],
    [
      "none of those that run beside a longer one",
      [
        [0, 5_000],
        [1_000, 500],
        [6_000, 500],
      ],
      [0, 0, 1_000],
    ],
  ])("are %s", (_, attempts, expected) => {
    const made = attempts.map(([start = 0, durationMs = 0], n) => attempt(n, { startedAt: at(start), durationMs }));
    expect(waitsOf({ timestamp: at(0) }, made)).toEqual(expected);
  });
});

describe("a glob", () => {
  it.each([
    ["openai/*", "openai/gpt/4", true],
    ["*gpt*", "openai/gpt-5", true],
    ["openai/gpt-5", "openai/gpt-5.5", false],
    ["a.c", "abc", false],
  ])("%s over %s: %s", (glob, name, fits) => expect(globMatches(glob, name)).toBe(fits));
});

describe("a request as curl", () => {
  const words = { key: "KEY", prompt: "Say 'hi'." };
  it.each([
    ["messages", "/v1/messages", ['-H "anthropic-version: 2023-06-01"', '"max_tokens":256']],
    ["responses", "/v1/responses", ['"input":']],
    ["gemini", "/v1beta/models/m:streamGenerateContent", ["alt=sse", '"contents":']],
    ["chat", "/v1/embeddings", ['"input":']],
  ] as const)("in %s at %s", (sourceFormat, path, parts) => {
    const text = requestCurl(request("r", { sourceFormat, path }), "http://127.0.0.1:1", words);
    for (const part of parts) expect(text).toContain(part);
    expect(text).toContain("Say '\\''hi'\\''.");
  });
});
