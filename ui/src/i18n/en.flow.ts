/** English words of what is on its way, and of how it went in the last hour. */
import { counter } from "./plural";

const count = counter("en");

/** What a chart says to those who cannot see it. */
type Outcomes = { answered: string; failed: string; part: string };
type Waits = { half: string; most: string };

export const flow = {
  title: "In flight",
  none: "Nothing is on its way.",
  summary: (running: number, waiting: number) =>
    waiting > 0
      ? `${count(running, "request", "requests")} on the way, ${waiting} waiting for a place.`
      : `${count(running, "request", "requests")} on the way.`,
  columns: { since: "Since", agent: "Agent", model: "Model", account: "Account", doing: "Doing" },
  stages: {
    choosing: "Choosing who to ask",
    waits_for_place: "Waiting for a place",
    waits_for_rest: "Waiting for a rest to end",
    asking: "Waiting for the answer",
    answering: "Answering",
  },
  stageHelp: {
    choosing: "nobody is asked at this moment",
    waits_for_place: "the account already has as many requests as it may",
    waits_for_rest: "everyone who could be asked rests for a short while",
    asking: "the request is with the provider",
    answering: "the answer is being passed on",
  },
  waitsUntil: (time: string) => `Waiting, goes on ${time}`,
  attempt: (n: number) => `attempt ${n}`,
  queues: "By account",
  queueOf: (running: number, waiting: number) =>
    [running > 0 && `${running} running`, waiting > 0 && `${waiting} waiting`].filter(Boolean).join(", "),

  lastHour: "Last hour",
  outcomes: "Requests",
  outcomesLabel: ({ answered, failed, part }: Outcomes) =>
    `Requests of the last hour: ${answered} answered, ${failed} failed, an error rate of ${part}`,
  errorRate: (part: string) => `error rate ${part}`,
  bar: (time: string, answered: string, failed: string, left: string) =>
    `${time}: ${answered} answered, ${failed} failed, ${left} left`,
  firstToken: "First token",
  duration: "Duration",
  waits: ({ half, most }: Waits) => `half within ${half}, 19 of 20 within ${most}`,
  waitsLabel: (what: string, { half, most }: Waits) =>
    `${what} of the last hour: at its latest, half within ${half}, 19 of 20 within ${most}`,
  half: "half",
  most: "19 of 20",
  quiet: "No request in the last hour.",
};
