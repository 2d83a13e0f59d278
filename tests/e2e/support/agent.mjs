/** Requests as coding agents send them: streamed, with their own headers. */

/** @typedef {{ url: string, key: string, model: string }} Settings `url` is the gateway's address without a path */

/**
 * Asks as Claude Code does, and returns the text of the answer.
 *
 * @param {Settings} settings
 */
export async function askAsClaudeCode({ url, key, model }) {
  const events = await stream(`${url}/v1/messages?beta=true`, {
    headers: {
      authorization: `Bearer ${key}`,
      "anthropic-version": "2023-06-01",
      "user-agent": "claude-cli/2.1.0 (external, cli)",
    },
    body: { model, max_tokens: 1024, stream: true, messages: [{ role: "user", content: "Say hello" }] },
  });
  return events.map((event) => event.delta?.text ?? "").join("");
}

/**
 * Asks as a tool on the OpenAI SDK does, and returns the text of the answer.
 *
 * @param {Settings} settings
 */
export async function askAsOpenAiTool({ url, key, model }) {
  const events = await stream(`${url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${key}`, "user-agent": "opencode/1.0.0" },
    body: { model, stream: true, messages: [{ role: "user", content: "Say hello" }] },
  });
  return events.map((event) => event.choices?.[0]?.delta?.content ?? "").join("");
}

/**
 * Sends a request and reads its events to the end. A refusal is an error with the gateway's own words.
 *
 * @param {string} url
 * @param {{ headers: Record<string, string>, body: unknown }} request
 * @returns {Promise<any[]>}
 */
async function stream(url, { headers, body }) {
  const reply = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await reply.text();
  if (!reply.ok) throw new Error(`${reply.status} ${text}`);
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:") && !line.includes("[DONE]"))
    .map((line) => JSON.parse(line.slice("data:".length)));
}
