/** What a line of the request log says about who was asked, and what an attempt spent its time on. */
import type { RequestAttempt, RequestOutcome, RequestRow } from "@/bindings";
import type { State } from "./connection-state";

export const outcomeState: Readonly<Record<RequestOutcome, State>> = {
  success: "ready",
  failure: "blocked",
  aborted: "terminal",
};

/** `provider/model` as it was sent, or nothing while nobody was asked. */
export function servedModel({ provider, model }: Pick<RequestRow, "provider" | "model">): string | null {
  return provider && model ? `${provider}/${model}` : null;
}

/** What the name asked for does not say about who served it: the whole, the provider alone, or nothing. */
export function servedOtherwise(request: RequestRow): string | null {
  const served = servedModel(request);
  // The name of a shared quota ends with what serves it.
  if (served === null || `/${request.requestedModel}`.endsWith(`/${served}`)) return null;
  return request.model === request.requestedModel ? request.provider : served;
}

export type PhaseName = "queued" | "connecting" | "waiting" | "streaming";

export type Phase = {
  readonly name: PhaseName;
  readonly ms: number;
  /** How the attempt ended in this phase, when no answer did. */
  readonly end: "failed" | "left" | null;
};

/** An attempt's time, in order. Phases it never reached are absent, and those it passed in no time. */
export function phasesOf(attempt: RequestAttempt): readonly Phase[] {
  const end = attempt.durationMs;
  const queued = Math.min(attempt.queuedMs, end);
  const connected = Math.min(attempt.connectMs ?? end, end);
  const firstToken = Math.min(attempt.firstTokenMs ?? end, end);
  // A refusal comes with the head of the response: nobody waits for a token of it.
  const refused = attempt.status !== null && attempt.status >= 400;
  const phases: { name: PhaseName; ms: number }[] = [
    { name: "queued", ms: queued },
    { name: "connecting", ms: (refused ? end : connected) - queued },
  ];
  if (attempt.connectMs !== null && !refused) phases.push({ name: "waiting", ms: firstToken - connected });
  if (attempt.firstTokenMs !== null) phases.push({ name: "streaming", ms: end - firstToken });
  const spent = phases.filter(({ ms }) => ms > 0);
  const shown = spent.length > 0 ? spent : phases.slice(-1);
  const ended = attempt.kind === "success" ? null : attempt.kind === "client_aborted" ? "left" : "failed";
  return shown.map((phase, index) => ({ ...phase, end: index === shown.length - 1 ? ended : null }));
}

/** Shorter pauses are the gateway's own work. */
const WAIT_MS = 250;

/** For how long nobody was asked before each attempt. Attempts beside each other wait for none. */
export function waitsOf(
  request: Pick<RequestRow, "timestamp">,
  attempts: readonly RequestAttempt[],
): readonly number[] {
  let busyUntil = Date.parse(request.timestamp);
  return attempts.map(({ startedAt, durationMs }) => {
    const start = Date.parse(startedAt);
    const idle = start - busyUntil;
    busyUntil = Math.max(busyUntil, start + durationMs);
    return idle >= WAIT_MS ? idle : 0;
  });
}
