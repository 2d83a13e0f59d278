/** English words of how requests pass through: the way to providers, how long things may take, and what is kept of them. */

export const traffic = {
  title: "Traffic",
  help: "How requests reach the providers, and how long they may take. A change applies from the next request on.",
  sections: {
    wayOut: { title: "Way out", help: "For connections without a proxy of their own." },
    patience: { title: "Patience with providers", help: "How long each part of an answer may take." },
    signsOfLife: {
      title: "Signs of life",
      help: "While a provider is silent, agents give up. So their answer is opened early and kept alive; a failure after that is told within it, no longer by its status code.",
    },
    promptCache: {
      title: "Prompt cache",
      help: "When an agent's request is put into another format. One in the provider's own format is not touched.",
    },
    tools: { title: "Tools", help: "When a provider cannot take what an agent brings." },
    bounds: { title: "Bounds of the gateway", help: "What agents may ask of it." },
  },
  finding: {
    title: "Without a full name",
    help: "For requests that name no model, or a model without its provider.",
  },
  log: { title: "Request log", help: "Who asked whom, when, and with what outcome." },
  checks: {
    title: "Checks in between",
    help: "What OmniRoute asks the providers although no request is under way. It costs nothing.",
  },
  fields: {
    "network.proxyMode": { label: "Proxy", help: "The way to all providers." },
    "network.proxyUrl": {
      label: "Address of the proxy",
      help: "With http, https, socks5 or socks5h in front, and user:password@ where it wants them. A password is not shown again, and kept while you leave the rest as it is. Used while the proxy is your own.",
    },
    "network.egressCheckUrl": {
      label: "Service that tells your address",
      help: "For providers that count free quotas by address. Empty: nobody is asked, and accounts that leave the same way count as one.",
    },
    "network.connectTimeoutMs": { label: "Connecting", help: "Until the connection stands." },
    "network.responseStartTimeoutMs": {
      label: "Beginning an answer",
      help: "Long prompts are read first. Some providers have a time of their own.",
    },
    "network.streamReadinessTimeoutMs": {
      label: "First useful output",
      help: "Of a stream; then another account is tried. 0 waits as long as it takes.",
    },
    "network.streamReadinessMaxTimeoutMs": {
      label: "First useful output, at most",
      help: "How far long prompts and many tools may stretch it.",
    },
    "network.streamContentStallTimeoutMs": {
      label: "Going on after the first thought",
      help: "A stream that began to think must think further or answer within it. 0 waits as long as it takes.",
    },
    "network.streamIdleTimeoutMs": { label: "Silence within a stream", help: "Longer, and it counts as dead." },
    "gateway.keepAliveAfterMs.messages": { label: "Anthropic Messages", help: "Opened after. 0 is off." },
    "gateway.keepAliveAfterMs.responses": { label: "OpenAI Responses", help: "Opened after. 0 is off." },
    "gateway.keepAliveAfterMs.chat": {
      label: "OpenAI Chat Completions",
      help: "Opened after. 0 is off. Many of its tools try again by the status code alone.",
    },
    "gateway.keepAliveAfterMs.gemini": { label: "Gemini", help: "Opened after. 0 is off." },
    "gateway.keepAliveIntervalMs": { label: "From one sign to the next" },
    "gateway.heartbeatIntervalMs": {
      label: "Pause within an answer",
      help: "A stream that has begun gives a sign each time it was silent for this long. 0 is off.",
    },
    "translation.cacheControlMode": {
      label: "Marks for the cache",
      help: "Anthropic reads a marked beginning again at a tenth of its price, and asks a quarter more the first time.",
    },
    "translation.foreignTools": {
      label: "Tools that only their vendor runs",
      help: "Such as web search, at a provider that has none.",
    },
    "translation.toolLimitTruncate": {
      label: "Cut lists of tools that are too long",
      help: "Off, the request goes elsewhere or is refused: an agent that misses a tool goes astray.",
    },
    "gateway.bodyLimitBytes": { label: "Largest request", help: "Larger ones are refused with 413." },
    "gateway.maxConnections": {
      label: "Connections at the same time",
      help: "Further ones wait. A change applies after a restart.",
    },
    "gateway.drainTimeoutMs": {
      label: "Time to finish when the gateway stops",
      help: "For requests under way. 0 cuts them off.",
    },
    "routing.defaultModel": {
      label: "Default model",
      help: "Stands in when a request names none: provider/model, a combo or a name. Empty: such requests are refused.",
    },
    "routing.providerOrder": {
      label: "Providers asked first",
      help: "One id per line. Among several that serve a model named without its provider.",
    },
    "routing.modelPrefixMode": {
      label: "Names in the model list",
      help: "What stands before a model in the list that agents read.",
    },
    "logging.detailed": {
      label: "Keep what is said",
      help: "Requests and answers, on this computer, without keys, signatures and images. Off, only that they happened.",
    },
    "logging.bodyRetentionDays": {
      label: "What is said is kept for",
      help: "At most as long as its request, and 1 GiB in all. 0 keeps it as long as the request.",
    },
    "logging.usageRetentionDays": {
      label: "Usage is kept for",
      help: "Tokens and cost of each request. At least 32 days, because limits of keys count a month. 0 keeps all.",
    },
    "logging.retentionDays": { label: "Kept for", help: "Older requests are removed within the hour. 0 keeps all." },
    "quota.refreshIntervalMs": {
      label: "Asking for quotas",
      help: "Of accounts that were signed in. 0 asks only when somebody looks.",
    },
    "quota.freshForMs": { label: "A quota stands for", help: "Whoever looks within it is told what is known." },
    "credentialHealthCheck.intervalMinutes": {
      label: "Trying credentials",
      help: "Of accounts that nobody used for so long. The outcome is shown, and changes nothing else. 0 never tries.",
    },
  },
  fieldProblems: {
    "network.proxyMode": "Enter the address of the proxy first.",
    "network.proxyUrl": "Must be an address such as http://host:port, with http, https, socks5 or socks5h in front.",
    "logging.usageRetentionDays": "Must be 0 or at least 32: limits of keys count a month.",
    "network.egressCheckUrl":
      "Must begin with https://, or with http:// on this computer or where private addresses are allowed.",
  },
  choices: {
    none: "None",
    system: "The system's",
    custom: "My own",
    auto: "The agent's, or set for it",
    off: "None",
    passthrough: "Only the agent's",
    "when-spare": "Leave out what is spare",
    drop: "Always leave out",
    refuse: "Always refuse",
  },
};
