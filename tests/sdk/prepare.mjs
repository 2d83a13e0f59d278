// Makes a fresh gateway ready for the checks: one upstream per dialect, and a second of each that refuses its key.
//
// Arguments: the fake upstream's origin, the gateway's management token. Environment: OMNIROUTE_URL.

const [origin, token] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

async function call(method, path, body) {
  const reply = await fetch(`${process.env.OMNIROUTE_URL}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${method} ${path}: ${await reply.text()}`);
  return reply.json();
}

const base = (dialect) => `${origin}/${dialect === "gemini" ? "v1beta" : "v1"}`;

async function node(prefix, apiType) {
  const draft = { name: prefix, prefix, apiType, baseUrl: base(apiType), providerClass: "apikey" };
  const made = await call("POST", "/api/provider-nodes", { ...draft, allowPrivateNetwork: true });
  await call("POST", "/api/providers", { provider: made.node.id, name: prefix, apiKey: `secret-${prefix}` });
}

async function vendor(provider, dialect, more = {}) {
  const providerSpecificData = { baseUrl: base(dialect), ...more };
  const connection = { provider, name: provider, apiKey: `secret-${provider}`, providerSpecificData };
  await call("POST", "/api/providers", connection);
}

// Each case speaks for itself: no account rests after another case's error, and no request waits for one that does.
const rest = { baseCooldownMs: 0, useUpstreamRetryHints: false };
await call("PATCH", "/api/resilience", {
  connectionCooldown: { apikey: rest, oauth: rest },
  providerBreaker: { apikey: { failureThreshold: 1000 }, oauth: { failureThreshold: 1000 } },
  waitForCooldown: { enabled: false }, comboCooldownWait: { enabled: false },
});

await vendor("openai", "chat");
await vendor("anthropic", "messages");
await vendor("gemini", "gemini");
// OpenAI itself over Responses alone: its encrypted reasoning goes back to it, whoever carries it.
await vendor("codex", "responses", { passthroughModels: false });
// The catalogue's OpenAI speaks both of its dialects, so that its clients never need a translation. These speak one.
await node("up-chat", "chat");
await node("up-responses", "responses");
// A refused key ends an account, which no other case may notice.
for (const dialect of ["chat", "responses", "messages", "gemini"]) {
  await node(`refused-${dialect}`, dialect);
}
