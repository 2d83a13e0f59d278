/** Who asked, by the product of the User-Agent: the name people know the tool by. */

const products: Readonly<Record<string, string>> = {
  aider: "aider",
  anthropic: "Anthropic SDK",
  asyncanthropic: "Anthropic SDK",
  asyncopenai: "OpenAI SDK",
  "claude-cli": "Claude Code",
  "claude-code": "Claude Code",
  cline: "Cline",
  codex: "Codex",
  codex_cli_rs: "Codex",
  codex_exec: "Codex",
  codex_vscode: "Codex",
  continue: "Continue",
  crush: "Crush",
  curl: "curl",
  "factory-cli": "Factory Droid",
  geminicli: "Gemini CLI",
  githubcopilotchat: "VS Code Copilot",
  "google-genai-sdk": "Google Gen AI SDK",
  goose: "Goose",
  httpie: "HTTPie",
  kilo: "Kilo Code",
  "kilo-code": "Kilo Code",
  litellm: "LiteLLM",
  node: "Node.js",
  openai: "OpenAI SDK",
  opencode: "opencode",
  "python-httpx": "Python httpx",
  "python-requests": "Python requests",
  qwencode: "Qwen Code",
  "roo-code": "Roo Code",
  roocode: "Roo Code",
  undici: "Node.js",
  zed: "Zed",
};

/** `codex_cli_rs` is “Codex”; a product we do not know keeps the name it gives itself. */
export function agentName(product: string): string {
  const known = products[product.toLowerCase()];
  // `GeminiCLI-tui`, `opencode-desktop`: the tool, then what part of it.
  return known ?? products[product.toLowerCase().split(/[-_/ ]/)[0] ?? ""] ?? product;
}
