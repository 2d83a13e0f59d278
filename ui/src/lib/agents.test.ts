import { describe, expect, it } from "vitest";
import { agents, agentsServed, curlAsk, exportLines, findAgent, findServedAgent, type Snippet } from "./agents";

const context = { url: "http://127.0.0.1:20128", key: "sk-omni-KEY", model: "anthropic/claude-sonnet-4-6" };

function text(snippet: Snippet): string {
  switch (snippet.kind) {
    case "environment":
      return exportLines(snippet.variables, "posix");
    case "fields":
      return snippet.fields.map(([, value]) => value).join("\n");
    case "file":
    case "command":
      return snippet.text;
  }
}

const settings = (id: string) =>
  findAgent(id)
    .ways(context)
    .map((way) => way.snippets.map(text).join("\n"));

describe("the settings of every agent", () => {
  it.each(agents.map((agent) => [agent.name, agent] as const))("%s: each way names address and key", (_, agent) => {
    for (const way of settings(agent.id)) {
      expect(way).toContain(context.url);
      expect(way).toContain(context.key);
    }
  });

  it("JSON files parse", () => {
    const files = agents
      .flatMap((agent) => agent.ways(context))
      .flatMap((way) => way.snippets)
      .filter((snippet) => snippet.kind === "file" && snippet.path.endsWith(".json"));
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect(() => JSON.parse(text(file))).not.toThrow();
  });

  it("Claude Code gets the address without /v1 and the key as a bearer token", () => {
    const [environment = ""] = settings("claude-code");
    expect(environment).toContain("export ANTHROPIC_BASE_URL=http://127.0.0.1:20128\n");
    expect(environment).toContain("export ANTHROPIC_AUTH_TOKEN=sk-omni-KEY");
    expect(environment).not.toContain("/v1");
  });

  it("Codex speaks Responses through a provider of its own", () => {
    const [file = ""] = settings("codex");
    expect(file).toContain('model_provider = "gw"');
    expect(file).toContain('base_url = "http://127.0.0.1:20128/v1"');
    expect(file).toContain('wire_api = "responses"');
    expect(file).toContain("export GW_API_KEY=sk-omni-KEY");
  });

  it("aider's own prefix stands before the model", () => {
    expect(settings("aider")[0]).toContain("aider --model openai/anthropic/claude-sonnet-4-6");
  });
});

describe("a question from a terminal", () => {
  it.each([
    ["chat", "/v1/chat/completions", '"messages"'],
    ["responses", "/v1/responses", '"input"'],
    ["messages", "/v1/messages", '"max_tokens"'],
    ["gemini", `/v1beta/models/${context.model}:generateContent`, '"contents"'],
  ] as const)("is asked in %s", (dialect, path, member) => {
    const command = curlAsk(dialect, context);
    expect(command).toContain(`curl ${context.url}${path} `);
    expect(command).toContain(context.key);
    expect(command).toContain(member);
  });
});

describe("lines for a shell", () => {
  const entry = [["NAME", "it's $5"]] as const;
  it.each([
    ["posix", `export NAME='it'\\''s $5'`],
    ["fish", `set -gx NAME 'it'\\''s $5'`],
    ["powershell", "$env:NAME = 'it''s $5'"],
  ] as const)("%s quotes what it would otherwise read", (shell, line) => {
    expect(exportLines(entry, shell)).toBe(line);
  });
});

describe("which agent a provider can serve", () => {
  it("keeps the person's agent where the provider speaks its format", () => {
    expect(findServedAgent("claude-code", ["messages"]).id).toBe("claude-code");
  });

  it("offers one that works where it does not", () => {
    const offered = findServedAgent("claude-code", ["chat", "responses"]);
    expect(["chat", "responses"]).toContain(offered.dialect);
  });

  it("lists only agents that work, and all while nothing is known", () => {
    expect(agentsServed(["gemini"]).every((agent) => agent.dialect === "gemini")).toBe(true);
    expect(agentsServed([])).toBe(agents);
  });
});
