/** English words of the feature flags. */

/** By the name of the variable. */
const names = {
  REQUIRE_API_KEY: {
    label: "Require a key from agents",
    help: "Off, every program on this computer can spend your providers' credit.",
  },
  ALLOW_PRIVATE_PROVIDER_URLS: {
    label: "Providers on private addresses",
    help: "Lets every connection lead into your own network, without being allowed one by one.",
  },
  OMNIROUTE_EMERGENCY_FALLBACK: {
    label: "Emergency fallback",
    help: "When a provider has no credit left, one try goes to a provider you did not name. Not for combos or tools.",
  },
  PROTECTED_PRIORITY_INFRA_502_ENABLED: {
    label: "502 when a protected target fails",
    help: "For a first target that may be left for an exhausted quota only; off, agents get 503.",
  },
  PROVIDER_COOLDOWN_ENABLED: {
    label: "Provider cooldown",
    help: "Spares a whole provider after many failures in a short time.",
  },
  QUOTA_PREFLIGHT_CUTOFF_ENABLED: {
    label: "Leave out accounts whose quota runs out",
    help: "Goes by what providers announced, before a request is sent.",
  },
  RATE_LIMIT_AUTO_ENABLE: {
    label: "Pace every API-key connection",
    help: "With the numbers of the request queue, also where nobody asked for it.",
  },
  STREAM_THROUGHPUT_WATCHDOG_ENABLED: {
    label: "Give up streams that say too little",
    help: "A stream that brings next to nothing for a while ends, so that another try can begin.",
  },
  MODELS_CATALOG_PREFIX_MODE: {
    label: "Names in the model list",
    help: "Whether models are listed under the provider's id, its short name, or both.",
  },
};

export const flags = {
  title: "Feature Flags",
  help: "Settings by the name of their environment variable. A value set here wins over the environment, at once.",
  filter: "Filter flags",
  none: "No flag of that name",
  noneHelp: "Settings without a flag have their own screens.",
  groups: {
    security: "Security",
    routing: "Routing and resilience",
    streaming: "Answers as they come",
    catalogue: "Models",
  },
  hidden: (value: string) => `The environment says ${value}; hidden by the value set here.`,
  restart: "After a restart",
  restartHelp: "The running gateway still works with the value it was started with.",
  names,
  choices: { dual: "Both", alias: "Short name", canonical: "Provider's id" },
  lastResort: {
    title: "Emergency fallback",
    help: "Where the one try goes when a provider's credit is used up. It needs a connection there.",
  },
  fields: {
    "network.allowPrivateProviderUrls": names.ALLOW_PRIVATE_PROVIDER_URLS,
    "routing.protectedPriorityInfra502": names.PROTECTED_PRIORITY_INFRA_502_ENABLED,
    "routing.emergencyFallback.enabled": { label: "Try once elsewhere" },
    "routing.emergencyFallback.provider": { label: "Provider", help: "Its id, as in the list of providers." },
    "routing.emergencyFallback.model": { label: "Model", help: "As that provider calls it." },
    "routing.emergencyFallback.maxOutputTokens": { label: "Longest answer", unit: "tokens" },
  },
};
