/** English words of what an account may be given at once and in a row, and of what is left of it. */
import { counter } from "./plural";

export const limits = {
  comboWaiting: {
    title: "Waiting of combos",
    help: "A combo whose targets all rest for a short while waits for the first to come back, instead of failing at once.",
  },
  queue: {
    title: "Request queue",
    help: "Paces what one account is given. It acts before a request is sent and never counts as a failure.",
  },
  quotaShare: {
    title: "Shared quotas",
    help: "Combos that divide the quota of their accounts among several keys.",
  },
  preflight: {
    title: "Quota before sending",
    help: "Goes by what providers announced. A quota that nobody announced leaves nobody out.",
    thresholdExample: "claude/weekly = 5",
    thresholdForm: "provider/window = percent",
  },
  connection: {
    protection: "Rate-limit protection",
    protectionHelp: "Paces it with the numbers of the request queue, and those below where they are set.",
    overrides: "Its own numbers",
    overridesHelp: "Any of them gives it a queue of its own. Empty: not limited, or as the settings say.",
    byModel: "At the same time, by model",
    byModelHelp: "One per line: model = requests. The model exactly as the provider calls it; further ones wait.",
    byModelForm: "model = requests",
    byModelExample: "glm-5 = 1",
  },
  lines: {
    form: (line: number, form: string) => `Line ${line}: write ${form}.`,
    range: (line: number, min: string, max: string) => `Line ${line}: must be a whole number from ${min} to ${max}.`,
    twice: (line: number, name: string) => `Line ${line}: ${name} is there already.`,
  },
  fields: {
    "comboCooldownWait.enabled": {
      label: "Wait for targets that rest",
      help: "Off, the agent is told at once, with the time to come back.",
    },
    "comboCooldownWait.maxWaitMs": { label: "Longest wait of a combo", help: "A longer rest is not waited for." },
    "comboCooldownWait.maxAttempts": {
      label: "Waits of a combo at most",
      help: "For one request. 0 never waits.",
      unit: "times",
    },
    "comboCooldownWait.budgetMs": {
      label: "All waits of a combo together",
      help: "For one request. Never below the longest.",
    },
    "requestQueue.autoEnableApiKeyProviders": {
      label: "Pace every account with a key",
      help: "Off, only connections that ask for it have a queue, and those whose provider announced its limits.",
    },
    "requestQueue.requestsPerMinute": { label: "Within a minute", help: "For one account.", unit: "requests" },
    "requestQueue.minTimeBetweenRequestsMs": {
      label: "From one request to the next",
      help: "Shortest time, for one account.",
    },
    "requestQueue.concurrentRequests": {
      label: "At the same time",
      help: "For one account. Further ones wait their turn.",
      unit: "requests",
    },
    "requestQueue.globalConcurrentRequests": {
      label: "At the same time in all",
      help: "Over all accounts. 0 is no limit.",
      unit: "requests",
    },
    "requestQueue.maxWaitMs": {
      label: "Longest wait for a turn",
      help: "Then the agent is told so; its request was never sent.",
    },
    "requestQueue.executionMaxWaitMs": {
      label: "Longest execution",
      help: "Counted from the sending. Where a provider may take longer to begin its answer, that counts.",
    },
    "requestQueue.maxQueueDepth": {
      label: "Waiting at most",
      help: "At one account. Further ones are refused at once. 0 is no limit.",
      unit: "requests",
    },
    "quotaShareConcurrencyLimit.enabled": {
      label: "Keep to each connection's limit",
      help: "Where a connection limits its simultaneous requests, they wait for each other. None is refused for it.",
    },
    "quotaPreflight.enabled": {
      label: "Leave accounts out that are nearly used up",
      help: "Off, an account is used until its provider refuses.",
    },
    "quotaPreflight.defaultThresholdPercent": {
      label: "Kept back",
      help: "With no more than this left of a window, an account is left out until the window begins anew.",
      unit: "%",
    },
    "quotaPreflight.warnThresholdPercent": {
      label: "Warned from",
      help: "With no more than this left, an account is shown as running low.",
      unit: "%",
    },
    "quotaPreflight.providerWindowDefaults": {
      label: "Kept back, by provider",
      help: "One per line: provider/window = percent. Everything else keeps back what stands above.",
    },
    "connection.rpm": { label: "Within a minute", unit: "requests" },
    "connection.minTime": { label: "From one to the next", help: "Shortest time between two requests." },
    "connection.tpm": { label: "Tokens within a minute", unit: "tokens" },
    "connection.tpd": { label: "Tokens within a day", unit: "tokens" },
    "connection.maxWaitMs": { label: "Longest wait for a turn" },
    "connection.executionMaxWaitMs": { label: "Longest execution", help: "Counted from the sending." },
  },
  fieldProblems: {
    "comboCooldownWait.maxWaitMs": "Cannot be longer than all waits together.",
    "comboCooldownWait.budgetMs": "Cannot be shorter than the longest wait.",
  },
};

const count = counter("en");

/** What a plot of a window says to those who cannot see it. */
type QuotaPlot = {
  window: string;
  account: string;
  since: string;
  lowest: string;
  highest: string;
  now: string;
  resets: string;
};

export const quota = {
  title: "Quota",
  help: "What is left of each account, as far as its provider says.",
  refresh: "Refresh",
  refreshing: "Asking…",
  refreshHelp: "Asks every provider that can be asked, each account at most once a minute",
  refreshNone: "None of these providers can be asked; their replies announce what they announce",
  emptyTitle: "No account to look at yet",
  emptyHelp:
    "Once a provider is connected, the quota of its account is shown here: how much is used, and when it resets.",
  standings: { usedUp: "Used up", low: "Running low", enough: "Enough left", unknown: "Unknown" },
  sources: {
    endpoint: "Asked of its provider",
    headers: "Announced by its replies",
    learned: "Learned from refusals",
    manual: "Entered by hand",
  },
  windows: {
    session: "5 hours",
    daily: "Day",
    weekly: "Week",
    monthly: "Month",
    requests: "Requests",
    tokens: "Tokens",
  },
  weekOf: (model: string) => `Week, ${model}`,
  meter: (window: string, account: string) => `${window} of ${account}`,
  used: (percent: string) => `${percent} used`,
  unknown: "unknown",
  resets: {
    in: (time: string) => `resets in ${time}`,
    at: (time: string) => `resets at ${time}`,
    on: (time: string) => `resets on ${time}`,
  },
  left: (amount: string) => `${amount} left`,
  leftOf: (amount: string, total: string) => `${amount} left of ${total}`,
  unasked: { title: "Not asked yet", help: "Their providers say what is left once they are asked: press Refresh." },
  silent: {
    title: "Nothing known yet",
    help: "Their providers cannot be asked, and their replies have announced nothing so far.",
  },
  moreAccounts: (n: number) => `and ${n} more`,
  inVain: "Its provider was asked in vain.",
  course: {
    title: "History",
    span: "How far back",
    spans: { day: "24 hours", week: "7 days", twoWeeks: "14 days" },
    none: "Nothing was announced in this time.",
    resets: (n: number) => (n === 0 ? "no reset" : count(n, "reset", "resets")),
    plot: ({ window, account, since, lowest, highest, now, resets }: QuotaPlot) =>
      `${window} of ${account} since ${since}: between ${lowest} and ${highest} used, ${now} now, ${resets}`,
  },
};
