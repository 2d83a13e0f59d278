/** English words of how the accounts of a provider take turns. */

export const accounts = {
  title: "Which connection is asked",
  help: "For this provider's connections that are ready. Whichever is chosen, the next takes over when it fails.",
  strategy: "They take turns",
  strategies: {
    priority: { name: "By priority", help: "The first in the list that is ready serves everything." },
    weighted: { name: "By weight", help: "One is drawn by chance, as often as its weight says." },
    "fill-first": { name: "Fill the first", help: "One is used until nothing more fits, then the next in the list." },
    "round-robin": { name: "Round robin", help: "One after another, so that each gets as many requests." },
    p2c: { name: "Better of two", help: "Two are drawn, and the faster and more reliable one serves." },
    random: { name: "Random", help: "Any of them, by chance." },
    "least-used": { name: "Least used", help: "The one with the fewest requests in the last hours." },
    "cost-optimized": {
      name: "Cheapest",
      help: "The cheapest; connections of one provider usually cost the same, then by priority.",
    },
    "strict-random": { name: "Shuffled", help: "By chance, but each serves once before any serves twice." },
  },
  weight: (name: string) => `Weight of ${name}`,
  weightHelp: "Twice the weight gets twice the requests; 0 serves only when no other is left.",
  weights: "Weights",
  weightRange: "A whole number from 0 to 100.",
  session: {
    title: "Conversations",
    help: "Agents name their session in a header; without one, its first message stands for it. No name is stored or sent on.",
  },
  fields: {
    "routing.accountStrategy": { label: "How connections take turns" },
    "routing.stickyRoundRobinLimit": {
      label: "In a row",
      help: "So many requests go to one connection before the next has its turn. For every provider.",
      unit: "requests",
    },
    sessionAffinityTtlMs: {
      label: "A session stays with its connection for",
      help: "Counted from its last request, at every provider; it moves when that connection is spared. 0 does not bind it.",
    },
  },
};
