/** Each attempt as a row on one time axis, which begins when the request arrived and ends with its last byte. */
import { Link } from "@tanstack/react-router";
import type { RequestAttempt, RequestDetail } from "@/bindings";
import { LongText } from "@/components/LongText";
import { StatusBadge } from "@/components/StatusBadge";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { type Phase, type PhaseName, phasesOf, waitsOf } from "@/lib/request-story";

/** The colours of the six states: being tried, waiting, at work, broken. */
const phaseColour: Record<PhaseName, string> = {
  queued: "bg-terminal",
  connecting: "bg-probing",
  waiting: "bg-cooling",
  streaming: "bg-ready",
};
const endColour = { failed: "bg-blocked", left: "bg-terminal" };
const colourOf = ({ name, end }: Phase) => (end ? endColour[end] : phaseColour[name]);

export function AttemptTimeline({ request }: { request: RequestDetail }) {
  const { attempts } = request.trace;
  const waits = waitsOf(request, attempts);
  const start = Date.parse(request.timestamp);
  const span = Math.max(
    1,
    request.durationMs,
    ...attempts.map((attempt) => Date.parse(attempt.startedAt) - start + attempt.durationMs),
  );
  return (
    <div>
      <Axis span={span} />
      <ol className="flex flex-col">
        {attempts.map((attempt, index) => (
          <Attempt
            key={attempt.n}
            attempt={attempt}
            stream={request.stream}
            isLast={index === attempts.length - 1}
            isOnly={attempts.length === 1 && attempt.kind === "success"}
            waited={waits[index] ?? 0}
            offset={Math.max(0, Date.parse(attempt.startedAt) - start)}
            span={span}
          />
        ))}
      </ol>
    </div>
  );
}

function Axis({ span }: { span: number }) {
  const words = useMessages().requests.story;
  const format = useFormat();
  return (
    <div title={words.axis} className="mb-1 flex justify-between text-ink-faint text-xs">
      <span>{format.duration(0)}</span>
      {span >= 4 && <span>{format.duration(span / 2)}</span>}
      <span>{format.duration(span)}</span>
    </div>
  );
}

type AttemptProps = {
  attempt: RequestAttempt;
  stream: boolean;
  isLast: boolean;
  /** The one attempt, and it succeeded: nothing was decided. */
  isOnly: boolean;
  /** For how long nobody was asked before it. */
  waited: number;
  /** When it began, from the arrival of the request. */
  offset: number;
  span: number;
};

function Attempt({ attempt, stream, isLast, isOnly, waited, offset, span }: AttemptProps) {
  const words = useMessages().requests.story;
  const format = useFormat();
  const phases = phasesOf(attempt);
  const percent = (ms: number) => `${(100 * ms) / span}%`;
  const nameOf = (phase: Phase) =>
    phase.name === "streaming" && !stream ? words.phases.receiving : words.phases[phase.name];
  return (
    <li className="border-t py-3 first:border-t-0 first:pt-1">
      <div aria-hidden className="relative h-2.5 rounded-full bg-sunken">
        <div
          className="absolute inset-y-0 flex min-w-1 gap-px overflow-hidden rounded-full"
          style={{ left: `min(${percent(offset)}, calc(100% - 4px))`, width: percent(attempt.durationMs) }}
        >
          {phases.map((phase) => (
            <span
              key={phase.name}
              title={words.phase(nameOf(phase), format.duration(phase.ms))}
              className={cn("min-w-0.5", colourOf(phase))}
              style={{ flexGrow: Math.max(phase.ms, 0.01), flexBasis: 0 }}
            />
          ))}
        </div>
      </div>
      <div className="mt-2 flex items-baseline gap-2">
        <span className="text-ink-faint">{attempt.n}</span>
        <Link
          to="/providers/$providerId/connections/$connectionId"
          params={{ providerId: attempt.provider, connectionId: attempt.connectionId }}
          className="min-w-0 truncate font-medium hover:underline"
        >
          {attempt.connectionName}
        </Link>
        <code title={attempt.executionKey ?? undefined} className="min-w-0 truncate font-mono text-ink-faint text-xs">
          {attempt.provider}/{attempt.model}
        </code>
        <span className="ml-auto shrink-0">
          <AttemptStatus attempt={attempt} />
        </span>
      </div>
      <ul className="mt-1 flex flex-wrap gap-x-4 gap-y-0.5 text-ink-soft text-xs">
        {waited > 0 && <li title={words.waitedHelp}>{words.waited(format.duration(waited))}</li>}
        {phases.map((phase) => (
          <li key={phase.name} className="inline-flex items-center gap-1.5">
            <span aria-hidden className={cn("size-2 rounded-sm", colourOf(phase))} />
            {words.phase(nameOf(phase), format.duration(phase.ms))}
          </li>
        ))}
      </ul>
      <Consumption attempt={attempt} />
      {attempt.kind !== "success" && (
        <p className="mt-1.5 select-text break-words">{kindWords(attempt.kind, words)}.</p>
      )}
      {!isOnly && <p className="mt-0.5 text-ink-soft">{decisionWords(attempt, isLast, words)}</p>}
      {attempt.kind !== "success" && attempt.message && (
        <div className="mt-1 break-words text-xs">
          <LongText text={attempt.message} className="text-ink-faint" />
        </div>
      )}
    </li>
  );
}

/** What this call alone used, where the request made several that did. */
function Consumption({ attempt: { tokensInput, tokensOutput, cost } }: { attempt: RequestAttempt }) {
  const words = useMessages().requests.story;
  const format = useFormat();
  if (tokensInput === null && tokensOutput === null) return null;
  return (
    <p className="mt-1 text-ink-soft text-xs">
      {words.consumed(format.number(tokensInput ?? 0), format.number(tokensOutput ?? 0))}
      {cost !== null && ` · ${format.dollars(cost)}`}
    </p>
  );
}

function AttemptStatus({ attempt }: { attempt: RequestAttempt }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const state = attempt.kind === "success" ? "ready" : attempt.kind === "client_aborted" ? "terminal" : "blocked";
  const word =
    state === "ready"
      ? words.succeeded
      : state === "terminal"
        ? messages.outcomes.aborted
        : attempt.status === null
          ? words.noAnswer
          : messages.outcomes.failure;
  return (
    <span className="inline-flex items-center gap-1.5">
      <StatusBadge state={state} word={word} title={attempt.kind} />
      {attempt.status !== null && <span className="text-ink-faint text-xs">{attempt.status}</span>}
    </span>
  );
}

type StoryWords = Messages["requests"]["story"];

/** A kind the dictionary does not know is shown as it is. */
function kindWords(kind: string, { kinds }: StoryWords): string {
  return kind in kinds ? kinds[kind as keyof typeof kinds] : kind;
}

function decisionWords({ kind, decision }: RequestAttempt, isLast: boolean, { decisions }: StoryWords): string {
  if (kind === "client_aborted") return decisions.left;
  if (decision === "next_connection" && isLast) return decisions.last;
  return decision in decisions ? decisions[decision as keyof typeof decisions] : decision;
}
