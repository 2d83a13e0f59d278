/** English words of the request log and of the story of one request. */
import { counter } from "./plural";

const count = counter("en");

export const requests = {
  title: "Requests",
  filter: "Filter requests",
  filterHelp: "Model, connection, key, agent or error",
  outcome: "Outcome",
  anyOutcome: "Any outcome",
  provider: "Provider",
  anyProvider: "Any provider",
  clearFilters: "Clear filters",
  columns: {
    time: "Time",
    agent: "Agent",
    model: "Model",
    connection: "Connection",
    status: "Status",
    firstToken: "First token",
    duration: "Duration",
    tokens: "Tokens",
  },
  inFlight: (n: number) => `${n} in flight`,
  newRows: (n: number) => count(n, "new request", "new requests"),
  attempts: (n: number) => count(n, "attempt", "attempts"),
  older: "Show older requests",
  loadingOlder: "Reading older requests…",
  servedAs: (asked: string, served: string) => `asked for ${asked}, served by ${served}`,
  nobody: "nobody asked",
  unknownAgent: "Unknown agent",
  emptyTitle: "No request has come in yet",
  emptyHelp:
    "Each request of your agents is one line here: what was asked, who answered, how long it took and what it used. Prompts and answers are not kept.",
  noneFoundTitle: "No request matches",
  noneFoundHelp: "Nothing in the log fits these filters.",
  deleteLog: "Delete log",
  deleteTitle: "Delete the whole request log?",
  deleteHelp: "Every line and its story are gone for good. What was consumed stays counted.",
  deleted: (n: number) => `${count(n, "request", "requests")} deleted from the log`,

  story: {
    title: "Request",
    notFound: "This request is no longer in the log",
    notFoundHelp: "It was deleted, or it is older than the log is kept.",
    answered: (agent: string, model: string, connection: string, duration: string) =>
      `${agent} asked for ${model}; ${connection} answered in ${duration}.`,
    answeredAfter: (agent: string, model: string, connection: string, duration: string, failed: number) =>
      `${agent} asked for ${model}; ${connection} answered after ${count(failed, "failed attempt", "failed attempts")}, ${duration} in all.`,
    failed: (agent: string, model: string, attempts: number) =>
      attempts === 1
        ? `${agent} asked for ${model}. The one attempt failed, and no other could help.`
        : `${agent} asked for ${model}. All ${attempts} attempts failed.`,
    refused: (agent: string, model: string) => `${agent} asked for ${model}. No provider was asked.`,
    aborted: (agent: string, model: string, duration: string) =>
      `${agent} asked for ${model} and left after ${duration}, before the answer was complete.`,
    abortedBefore: (agent: string, model: string, duration: string) =>
      `${agent} asked for ${model} and left after ${duration}, before an answer began.`,

    route: "Route",
    asked: "Asked for",
    resolvedBy: "Understood as",
    served: "Served by",
    connection: "Connection",
    key: "Key",
    format: "Format",
    streamed: "streamed",
    whole: "in one piece",
    arrived: "Arrived",
    firstToken: "First token",
    total: "Duration",
    rules: {
      1: "a combo of this name",
      2: "a combo, by its prefix",
      3: "a pattern that leads to a combo",
      4: "automatic choice",
      5: "a shared quota",
      6: "one of your own model names",
      7: "the provider named before the slash",
      8: "the connected provider that offers this model",
    },
    ruleNone: "no model known here",
    ruleTechnical: (n: number) => `rule ${n} of model name resolution`,

    attemptsTitle: "Attempts",
    axis: "Time since the request arrived",
    phases: {
      queued: "queued",
      connecting: "connecting",
      waiting: "waiting for the first token",
      streaming: "streaming",
      receiving: "receiving",
    },
    phase: (name: string, duration: string) => `${name} ${duration}`,
    succeeded: "Answered",
    noAnswer: "No answer",
    kinds: {
      success: "Answered",
      auth: "The credential was refused",
      quota_exhausted: "The account's quota or credit is used up",
      rate_limit: "The account's rate limit is reached",
      model_not_found: "The provider does not know this model",
      server_error: "The provider had an error of its own",
      overloaded: "The provider is overloaded",
      unreachable: "The provider could not be reached",
      connection_reset: "The connection broke before an answer",
      tls: "The secure connection failed",
      response_start_timeout: "No answer began in time",
      stream_idle_timeout: "The stream fell silent",
      stream_cut: "The stream ended too early",
      empty_or_garbled: "The answer was empty or unreadable",
      invalid_request: "The provider refused the request itself",
      client_aborted: "The agent left",
    },
    decisions: {
      answer: "Its answer was passed on.",
      next_connection: "Went on to the next connection.",
      last: "No other connection was left to try.",
      stop: "Stopped: another connection would have said the same.",
      left: "Nothing more to do.",
    },

    exclusionsTitle: "Left out",
    mechanisms: {
      switched_off: "Switched off",
      key_allow_list: "The key's allow-list",
      excluded_model: "Excluded models",
      credential_gate: "Missing credential",
      request_exhaustion: "Already failed in this request",
      concurrency_cap: "Limit of simultaneous requests",
      dialect_mismatch: "Another format",
    },
    reasons: {
      switched_off: "Somebody switched this connection off.",
      key_allow_list: "The key that was presented may not use this connection.",
      excluded_model: "The model is on this connection's list of excluded models.",
      credential_gate: "No usable key is stored for it.",
      request_exhaustion: "It had its chance a moment before and failed.",
      concurrency_cap: "As many requests were under way as it allows.",
      dialect_mismatch: "The provider does not speak the format the agent used.",
    },
    ends: {
      request_exhaustion: "The end of this request",
      concurrency_cap: "One of its requests ends",
    },
    openConnection: "Open connection",
    openKey: "Open key",
    openAgents: "Settings for agents",

    usage: "Usage",
    tokens: (n: string) => `${n} tokens`,
    input: "Input",
    cacheRead: "read from cache",
    cacheWrite: "written to cache",
    output: "Output",
    reasoning: "reasoning",
    estimated: "estimated: the provider did not count",
    cost: "Cost",
    noPrice: "no price known",
    noUsage: "Nothing was counted.",

    warnings: "Changed on the way",
    changes: {
      BACKGROUND_DEGRADE: "“background” was removed: the answer was given directly instead.",
    },

    ids: "Identifiers",
    requestId: "Request",
    connectionId: "Connection",
    keyId: "Key",
    session: "Session",
    code: "Error code",
    said: "In the gateway's words",

    copyCurl: "Copy as curl",
    curlHelp: "Your key and prompt are not kept; put them in yourself.",
    curlPrompt: "Say hello.",
  },

  codes: {
    ALL_ACCOUNTS_INACTIVE: {
      title: "Every connection to this provider is switched off",
      help: "Switch one on, and the next request finds it.",
    },
    ALL_TARGETS_SKIPPED: {
      title: "Every connection was left out",
      help: "The reasons are below, each with what helps.",
    },
    bad_gateway: { title: "The provider could not be used", help: "Each attempt below says what happened." },
    bad_request: {
      title: "The request was not understood",
      help: "The agent sent something that nobody would accept.",
    },
    client_closed_request: { title: "The agent left", help: "It closed the connection; nothing is wrong here." },
    dialect_not_supported: {
      title: "The provider speaks another format than the agent",
      help: "Ask for a model of a provider that speaks it, or point the agent at the other address.",
    },
    gateway_timeout: {
      title: "No answer in time",
      help: "The provider stayed silent longer than allowed. Long prompts and cold local models are the usual causes.",
    },
    internal_server_error: {
      title: "The provider had an error of its own",
      help: "Nothing to correct here. A second connection would have covered for it.",
    },
    model_not_found: {
      title: "No model of this name",
      help: "Check its spelling, write it as provider/model, or connect the provider that has it.",
    },
    no_executable_targets: {
      title: "No connection to this provider exists",
      help: "Add one, and the next request finds it.",
    },
    permission_denied: {
      title: "The key does not allow this",
      help: "Widen what the key may use, or give the agent another one.",
    },
    rate_limit_exceeded: {
      title: "The rate limit is reached",
      help: "Waiting helps. So does a second connection, which takes over at such moments.",
    },
    request_too_large: {
      title: "The request is too large",
      help: "The agent sent more than the gateway accepts. Shorten its context, or raise the limit.",
    },
    service_unavailable: {
      title: "Nobody could take the request",
      help: "Each attempt and each omission below says why.",
    },
    upstream_auth_failed: {
      title: "The provider refused the stored key",
      help: "Replace the key of the connection below.",
    },
    other: { title: "The request failed", help: "The gateway's own words are below." },
  },
};
