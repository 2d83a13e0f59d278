/** English words of combos in use: how they did, the trial of their targets, their tiers. */
import { counter } from "./plural";

const count = counter("en");

export const comboUse = {
  columns: { answered: "Answered", takes: "Duration", lastUsed: "Last used" },
  lastDay: "In the last 24 hours",
  notAsked: "Nobody has asked for it in the last 24 hours.",
  answeredOf: (successes: string, finished: string) => `${successes} of ${finished} requests answered`,
  usually: (half: string, most: string) => `Half of them within ${half}, 19 of 20 within ${most}.`,

  record: {
    title: "Last 24 hours",
    requests: "Requests",
    answered: "Answered",
    half: "Half within",
    most: "19 of 20 within",
    lastUsed: "Last used",
    targets: "By target",
    ofTarget: (n: number) => count(n, "request", "requests"),
    none: "Nobody has asked for this combo in the last 24 hours.",
  },

  test: {
    action: "Test",
    title: (name: string) => `Test ${name}`,
    help: "Sends a short message to every target of the combo, and notes who answers. It costs a few tokens, and changes nothing: no account rests because of it.",
    unsaved: "What is tested is the combo as it was last saved.",
    prompt: "Message",
    promptHelp: "Empty: a greeting.",
    run: "Test every target",
    runAgain: "Test again",
    running: "Testing every target…",
    passed: (passed: number, all: number) => `${passed} of ${count(all, "target", "targets")} answered`,
    results: "Targets",
    noTargets: "No step of this combo leads to a model, so there is nothing to test.",
    took: (duration: string) => `answered in ${duration}`,
  },

  tiers: {
    title: "Tiers",
    help: "Another order than the list's: starts at one tier and falls back from tier to tier. Steps without a tier come last.",
    none: "Steps are asked in the order of the list.",
    add: "Add tier",
    start: "Starts at",
    startHelp: "The tier that is asked first.",
    name: "Tier",
    step: "Step",
    next: "Falls back to",
    noNext: "the other steps",
    goneStep: "a step that no longer exists",
    nameOf: (name: string) => `Name of tier ${name}`,
    stepOf: (name: string) => `Step of tier ${name}`,
    nextOf: (name: string) => `Fallback of tier ${name}`,
    remove: (name: string) => `Remove tier ${name}`,
    newName: (n: number) => `tier-${n}`,
  },
};
