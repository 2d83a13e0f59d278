/**
 * What each agent tool needs to be told to use this gateway (gateway specification, 7.1). Pure text; nothing is written
 * anywhere. Addresses are always the numeric loopback address, which avoids IPv6 and proxy surprises.
 */
import type { Dialect } from "@/bindings";

export type AgentContext = {
  /** The gateway's own address, without a path. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
};

export type FieldName = "provider" | "baseUrl" | "url" | "key" | "model" | "context";

export type Snippet =
  | { readonly kind: "environment"; readonly variables: readonly (readonly [name: string, value: string])[] }
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  | { readonly kind: "command"; readonly text: string }
  | { readonly kind: "fields"; readonly fields: readonly (readonly [FieldName, string])[] };

/** Some tools can be told in more than one place; each is complete in itself. */
export type Way = { readonly place: "environment" | "settingsFile" | "fields"; readonly snippets: readonly Snippet[] };

export type AgentId =
  | "claude-code"
  | "codex"
  | "gemini-cli"
  | "opencode"
  | "aider"
  | "qwen-code"
  | "goose"
  | "crush"
  | "droid"
  | "cline"
  | "roo"
  | "kilo"
  | "continue"
  | "zed"
  | "copilot"
  | "cursor"
  | "openai-sdk"
  | "anthropic-sdk"
  | "google-sdk"
  | "litellm"
  | "curl";

export type Agent = {
  readonly id: AgentId;
  readonly name: string;
  readonly group: "terminal" | "editor" | "code";
  readonly dialect: Dialect;
  ways(context: AgentContext): readonly Way[];
};

const environment = (...snippets: Snippet[]): Way => ({ place: "environment", snippets });
const settingsFile = (...snippets: Snippet[]): Way => ({ place: "settingsFile", snippets });
const fields = (...snippets: Snippet[]): Way => ({ place: "fields", snippets });
const variables = (...entries: [string, string][]): Snippet => ({ kind: "environment", variables: entries });
const file = (path: string, text: string): Snippet => ({ kind: "file", path, text });
const command = (text: string): Snippet => ({ kind: "command", text });
const json = (value: unknown): string => JSON.stringify(value, null, 2);

const CONTEXT_TOKENS = 200_000;
const OUTPUT_TOKENS = 32_000;

const openAiFields = ({ url, key, model }: AgentContext, provider: string): Snippet => ({
  kind: "fields",
  fields: [
    ["provider", provider],
    ["baseUrl", `${url}/v1`],
    ["key", key],
    ["model", model],
  ],
});

export const agents: readonly Agent[] = [
  {
    id: "claude-code",
    name: "Claude Code",
    group: "terminal",
    dialect: "messages",
    ways({ url, key, model }) {
      const values: [string, string][] = [
        ["ANTHROPIC_BASE_URL", url],
        ["ANTHROPIC_AUTH_TOKEN", key],
        ["ANTHROPIC_MODEL", model],
        ["ANTHROPIC_DEFAULT_OPUS_MODEL", model],
        ["ANTHROPIC_DEFAULT_SONNET_MODEL", model],
        ["ANTHROPIC_DEFAULT_HAIKU_MODEL", model],
      ];
      return [
        environment(variables(...values), command("claude")),
        settingsFile(file("~/.claude/settings.json", json({ env: Object.fromEntries(values) })), command("claude")),
      ];
    },
  },
  {
    id: "codex",
    name: "Codex CLI",
    group: "terminal",
    dialect: "responses",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.codex/config.toml",
          `model = "${model}"
model_provider = "gw"

[model_providers.gw]
name = "OmniRoute"
base_url = "${url}/v1"
env_key = "GW_API_KEY"
wire_api = "responses"
requires_openai_auth = false`,
        ),
        variables(["GW_API_KEY", key]),
        command("codex"),
      ),
    ],
  },
  {
    id: "gemini-cli",
    name: "Gemini CLI",
    group: "terminal",
    dialect: "gemini",
    ways: ({ url, key, model }) => [
      environment(
        variables(["GOOGLE_GEMINI_BASE_URL", url], ["GEMINI_API_KEY", key], ["GEMINI_MODEL", model]),
        command("gemini"),
      ),
    ],
  },
  {
    id: "opencode",
    name: "opencode",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.config/opencode/opencode.json",
          json({
            $schema: "https://opencode.ai/config.json",
            model: `gw/${model}`,
            provider: {
              gw: {
                npm: "@ai-sdk/openai-compatible",
                name: "OmniRoute",
                options: { baseURL: `${url}/v1`, apiKey: "{env:GW_API_KEY}" },
                models: { [model]: { name: model, limit: { context: CONTEXT_TOKENS, output: OUTPUT_TOKENS } } },
              },
            },
          }),
        ),
        variables(["GW_API_KEY", key]),
        command("opencode"),
      ),
    ],
  },
  {
    id: "aider",
    name: "aider",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      environment(
        variables(["OPENAI_API_BASE", `${url}/v1`], ["OPENAI_API_KEY", key]),
        command(`aider --model openai/${model}`),
      ),
      settingsFile(
        file("~/.aider.conf.yml", `openai-api-base: ${url}/v1\nopenai-api-key: ${key}\nmodel: openai/${model}`),
        command("aider"),
      ),
    ],
  },
  {
    id: "qwen-code",
    name: "Qwen Code",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      environment(
        variables(["OPENAI_BASE_URL", `${url}/v1`], ["OPENAI_API_KEY", key], ["OPENAI_MODEL", model]),
        command("qwen"),
      ),
      settingsFile(
        file("~/.qwen/.env", `OPENAI_BASE_URL=${url}/v1\nOPENAI_API_KEY=${key}\nOPENAI_MODEL=${model}`),
        command("qwen"),
      ),
    ],
  },
  {
    id: "goose",
    name: "Goose",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.config/goose/config.yaml",
          `GOOSE_PROVIDER: openai
GOOSE_MODEL: ${model}
OPENAI_HOST: ${url}
OPENAI_BASE_PATH: v1/chat/completions`,
        ),
        variables(["OPENAI_API_KEY", key]),
        command("goose"),
      ),
    ],
  },
  {
    id: "crush",
    name: "Crush",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.config/crush/crush.json",
          json({
            providers: {
              gw: {
                type: "openai-compat",
                base_url: `${url}/v1`,
                api_key: "$GW_API_KEY",
                models: [{ id: model, name: model, context_window: CONTEXT_TOKENS, default_max_tokens: OUTPUT_TOKENS }],
              },
            },
          }),
        ),
        variables(["GW_API_KEY", key]),
        command("crush"),
      ),
    ],
  },
  {
    id: "droid",
    name: "Factory Droid",
    group: "terminal",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.factory/config.json",
          json({
            custom_models: [
              {
                model_display_name: `${model} (OmniRoute)`,
                model,
                base_url: `${url}/v1`,
                api_key: key,
                provider: "generic-chat-completion-api",
              },
            ],
          }),
        ),
        command("droid"),
      ),
    ],
  },
  {
    id: "cline",
    name: "Cline",
    group: "editor",
    dialect: "chat",
    ways: (context) => [fields(openAiFields(context, "OpenAI Compatible"))],
  },
  {
    id: "roo",
    name: "Roo Code",
    group: "editor",
    dialect: "chat",
    ways: (context) => [fields(openAiFields(context, "OpenAI Compatible"))],
  },
  {
    id: "kilo",
    name: "Kilo Code",
    group: "editor",
    dialect: "chat",
    ways: (context) => [fields(openAiFields(context, "OpenAI Compatible"))],
  },
  {
    id: "continue",
    name: "Continue",
    group: "editor",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.continue/config.yaml",
          `name: OmniRoute
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]
    capabilities: [tool_use, image_input]`,
        ),
      ),
    ],
  },
  {
    id: "zed",
    name: "Zed",
    group: "editor",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      settingsFile(
        file(
          "~/.config/zed/settings.json",
          json({
            language_models: {
              openai_compatible: {
                OmniRoute: {
                  api_url: `${url}/v1`,
                  available_models: [
                    { name: model, display_name: model, max_tokens: CONTEXT_TOKENS, max_output_tokens: OUTPUT_TOKENS },
                  ],
                },
              },
            },
          }),
        ),
        variables(["OMNIROUTE_API_KEY", key]),
      ),
    ],
  },
  {
    id: "copilot",
    name: "VS Code Copilot",
    group: "editor",
    dialect: "chat",
    ways: ({ url, key, model }) => [
      fields({
        kind: "fields",
        fields: [
          ["url", `${url}/v1/chat/completions`],
          ["key", key],
          ["model", model],
        ],
      }),
    ],
  },
  {
    id: "cursor",
    name: "Cursor",
    group: "editor",
    dialect: "chat",
    ways: (context) => [fields(openAiFields(context, "OpenAI"))],
  },
  {
    id: "openai-sdk",
    name: "OpenAI SDKs",
    group: "code",
    dialect: "responses",
    ways: ({ url, key }) => [environment(variables(["OPENAI_BASE_URL", `${url}/v1`], ["OPENAI_API_KEY", key]))],
  },
  {
    id: "anthropic-sdk",
    name: "Anthropic SDKs",
    group: "code",
    dialect: "messages",
    ways: ({ url, key }) => [environment(variables(["ANTHROPIC_BASE_URL", url], ["ANTHROPIC_API_KEY", key]))],
  },
  {
    id: "google-sdk",
    name: "Google Gen AI SDKs",
    group: "code",
    dialect: "gemini",
    ways: ({ url, key }) => [environment(variables(["GOOGLE_GEMINI_BASE_URL", url], ["GEMINI_API_KEY", key]))],
  },
  {
    id: "litellm",
    name: "LangChain, LiteLLM",
    group: "code",
    dialect: "chat",
    ways: ({ url, key }) => [
      environment(
        variables(["OPENAI_BASE_URL", `${url}/v1`], ["OPENAI_API_BASE", `${url}/v1`], ["OPENAI_API_KEY", key]),
      ),
    ],
  },
  {
    id: "curl",
    name: "curl",
    group: "code",
    dialect: "chat",
    ways: (context) => [environment(command(curlModels(context)), command(curlAsk("chat", context)))],
  },
];

export function findAgent(id: string | null | undefined): Agent {
  return agents.find((agent) => agent.id === id) ?? (agents[0] as Agent);
}

/** The agents that a provider speaking these formats can serve; all of them when nothing is known. */
export function agentsServed(dialects: readonly Dialect[]): readonly Agent[] {
  const served = agents.filter((agent) => dialects.includes(agent.dialect));
  return served.length > 0 ? served : agents;
}

/** The person's agent if the provider can serve it, else the first that it can. */
export function findServedAgent(id: string | null | undefined, dialects: readonly Dialect[]): Agent {
  const served = agentsServed(dialects);
  return served.find((agent) => agent.id === id) ?? (served[0] as Agent);
}

export function curlModels({ url, key }: Pick<AgentContext, "url" | "key">): string {
  return `curl ${url}/v1/models -H "Authorization: Bearer ${key}"`;
}

/** One question asked from a terminal, in a format that the provider of the model speaks. */
export function curlAsk(dialect: Dialect, { url, key, model }: AgentContext): string {
  const messages = [{ role: "user", content: "Say hello." }];
  switch (dialect) {
    case "chat":
      return curlPost(`${url}/v1/chat/completions`, `Authorization: Bearer ${key}`, { model, messages });
    case "responses":
      return curlPost(`${url}/v1/responses`, `Authorization: Bearer ${key}`, { model, input: "Say hello." });
    case "messages":
      return curlPost(`${url}/v1/messages`, `x-api-key: ${key}`, { model, max_tokens: 1024, messages });
    case "gemini":
      return curlPost(`${url}/v1beta/models/${model}:generateContent`, `x-goog-api-key: ${key}`, {
        contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
      });
  }
}

function curlPost(url: string, key: string, body: unknown): string {
  return `curl ${url} \\
  -H "${key}" \\
  -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`;
}

export type Shell = "posix" | "fish" | "powershell";
export const shells: readonly Shell[] = ["posix", "fish", "powershell"];

/** The lines that set variables for the current shell. */
export function exportLines(entries: readonly (readonly [string, string])[], shell: Shell): string {
  return entries.map(([name, value]) => exportLine(name, value, shell)).join("\n");
}

function exportLine(name: string, value: string, shell: Shell): string {
  switch (shell) {
    case "posix":
      return `export ${name}=${quotePosix(value)}`;
    case "fish":
      return `set -gx ${name} ${quotePosix(value)}`;
    case "powershell":
      return `$env:${name} = '${value.replaceAll("'", "''")}'`;
  }
}

export function quotePosix(value: string): string {
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", `'\\''`)}'`;
}
