/** A connection's health: what keeps it out and what brings it back, its rests, its last error, its locked models. */
import { Link } from "@tanstack/react-router";
import { KeyRound, RotateCcw } from "lucide-react";
import type { Breaker, Connection, ConnectionDetail, Lockout } from "@/bindings";
import { BreakerBadge } from "@/components/BreakerBadge";
import { Cause, type Said } from "@/components/Cause";
import { Fact, Facts } from "@/components/Facts";
import { notify, useReportError } from "@/components/notify";
import { BackIn, RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { useBreakerReset } from "@/components/use-breaker-reset";
import { WhyNot } from "@/components/WhyNot";
import { useChange } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { breakerNow, opensAt } from "@/lib/breaker";
import { connectionState, type State, type StateWord } from "@/lib/connection-state";
import { errorType } from "@/lib/error-type";
import { lockReason } from "@/lib/lock-reason";
import { useNow } from "@/lib/use-now";

type ConnectionHealthProps = {
  detail: ConnectionDetail;
  providerName: string;
  readAt: number;
  /** Leads to the place where another key is pasted. */
  onReplaceKey(): void;
};

export function ConnectionHealth({ detail, providerName, readAt, onReplaceKey }: ConnectionHealthProps) {
  const messages = useMessages();
  const words = messages.connectionHealth;
  const format = useFormat();
  const now = useNow();
  const { connection, breaker } = detail;
  const locks = detail.lockouts.filter(({ expiresAt }) => Date.parse(expiresAt) > now);
  return (
    <section aria-label={words.title} className="flex flex-col gap-3">
      <h3 className="border-b pb-1.5 font-medium text-ink-soft text-xs">{words.title}</h3>
      <Trouble connection={connection} onReplaceKey={onReplaceKey} />
      <BreakerTrouble breaker={breaker} provider={connection.provider} providerName={providerName} readAt={readAt} />
      <Facts>
        <Fact label={words.breaker}>
          <Link
            to="/monitoring/health/$providerId"
            params={{ providerId: connection.provider }}
            className="hover:underline"
          >
            <BreakerBadge state={breakerNow(breaker, readAt, now)} />
          </Link>
        </Fact>
        {connection.backoffLevel > 0 && (
          <Fact label={words.level}>
            <span title={words.levelHelp}>{format.number(connection.backoffLevel)}</span>
          </Fact>
        )}
        {connection.lastErrorAt && <LastError connection={connection} at={connection.lastErrorAt} />}
      </Facts>
      {locks.length > 0 && <Locks connection={connection} locks={locks} />}
      {connection.defaultModel && (
        <Link
          to="/monitoring/explain"
          search={{ model: `${connection.provider}/${connection.defaultModel}` }}
          className="self-start text-accent-text hover:underline"
        >
          {words.explain}
        </Link>
      )}
    </section>
  );
}

/** Why routing passes it by and what brings it back, or the last error of one still in use; nothing while all is well. */
function Trouble({ connection, onReplaceKey }: { connection: Connection; onReplaceKey(): void }) {
  const messages = useMessages();
  const words = messages.connections;
  const { mechanisms } = messages.requests.story;
  const now = useNow();
  const reset = useChange("connection_reset");
  const { state, word } = connectionState(connection, now);
  if (word === "off" || state === "ready") return null;
  const clear = (
    <Button
      size="sm"
      disabled={reset.isPending}
      onClick={() => reset.mutate({ id: connection.id }, { onSuccess: () => notify.done(words.resetDone) })}
    >
      <RotateCcw aria-hidden />
      {state === "cooling" ? messages.connectionHealth.clear : words.reset}
    </Button>
  );
  if (state === "degraded") {
    return (
      <div className="flex flex-col items-start gap-2.5 rounded-md bg-sunken px-3 py-2.5">
        <div>
          <h4>{messages.connectionHealth.stillAsked}</h4>
          <Cause cause={causeOf(connection)} />
        </div>
        {clear}
      </div>
    );
  }
  return (
    <WhyNot
      mechanism={mechanisms[mechanismOf(state)]}
      reason={reasonOf(word, messages)}
      cause={causeOf(connection)}
      until={state === "cooling" ? connection.rateLimitedUntil : null}
      action={
        <>
          {wantsKey(word) && (
            <Button size="sm" onClick={onReplaceKey}>
              <KeyRound aria-hidden />
              {connection.hasCredential ? words.replaceKey : words.addKey}
            </Button>
          )}
          {state !== "blocked" && clear}
        </>
      }
    />
  );
}

/** Why it is passed by, in the sentence that the story of a request has for it. */
function reasonOf(word: StateWord, messages: Messages): string {
  const { reasons } = messages.requests.story;
  switch (word) {
    case "cooling":
      return reasons.unavailable;
    case "noKey":
      return reasons.credential_gate;
    case "banned":
      return reasons.banned;
    case "expired":
    case "keyRefused":
      return reasons.expired;
    case "creditsExhausted":
      return reasons.credits_exhausted;
    default:
      return messages.state[word];
  }
}

/** What the provider said last. */
function causeOf({ errorCode, lastError, lastErrorAt }: Connection): Said | null {
  return lastError ? { status: errorCode, message: lastError, at: lastErrorAt } : null;
}

/** Whether another key is what helps. */
function wantsKey(word: StateWord): boolean {
  return word === "keyRefused" || word === "noKey" || word === "banned";
}

/** What says no, in the words that the story of a request uses for it. */
function mechanismOf(state: State): "connection_cooldown" | "terminal_state" | "credential_gate" {
  if (state === "cooling") return "connection_cooldown";
  return state === "terminal" ? "terminal_state" : "credential_gate";
}

type BreakerTroubleProps = { breaker: Breaker; provider: string; providerName: string; readAt: number };

/** The provider as a whole is spared: nothing at this connection helps then. */
function BreakerTrouble({ breaker, provider, providerName, readAt }: BreakerTroubleProps) {
  const messages = useMessages();
  const story = messages.requests.story;
  const now = useNow();
  const reset = useBreakerReset();
  const until = opensAt(breaker, readAt);
  if (until === null || breakerNow(breaker, readAt, now) !== "OPEN") return null;
  return (
    <WhyNot
      about={providerName}
      mechanism={story.mechanisms.circuit_breaker}
      reason={story.reasons.circuit_open}
      until={new Date(until).toISOString()}
      action={
        <Button size="sm" disabled={reset.busy} onClick={() => reset.one(provider, providerName)}>
          <RotateCcw aria-hidden />
          {messages.resilience.reset}
        </Button>
      }
    />
  );
}

function LastError({ connection, at }: { connection: Connection; at: string }) {
  const messages = useMessages();
  const words = messages.connectionHealth;
  const now = useNow();
  const { lastErrorType } = connection;
  // Above, the provider's words are told already.
  const { state, word } = connectionState(connection, now);
  const cause = state === "ready" || word === "off" ? causeOf(connection) : null;
  return (
    <Fact label={words.lastError}>
      {lastErrorType ? <span title={lastErrorType}>{errorType(lastErrorType, messages)}</span> : words.otherError}
      {cause ? (
        <Cause cause={cause} />
      ) : (
        <>
          {" "}
          · <RelativeTime at={at} />
        </>
      )}
    </Fact>
  );
}

/** More of them are a list of their own. */
const LOCKS_SHOWN = 6;

function Locks({ connection, locks }: { connection: Connection; locks: readonly Lockout[] }) {
  const messages = useMessages();
  const words = messages.modelCooldowns;
  const report = useReportError();
  const enable = useChange("model_cooldowns_clear");
  return (
    <div>
      <h4 className="border-b pb-1.5 font-medium text-ink-soft text-xs">{messages.connectionHealth.locks}</h4>
      <ul>
        {locks.slice(0, LOCKS_SHOWN).map(({ model, reason, expiresAt }) => (
          <li key={model} className="flex min-h-10 items-center gap-3 border-b last:border-b-0">
            <span className="min-w-0 flex-1 truncate">
              <code className="font-mono" title={model}>
                {model}
              </code>{" "}
              <span className="text-ink-faint">{lockReason(reason, messages)}</span>
            </span>
            <span className="w-20 shrink-0">
              <BackIn until={Date.parse(expiresAt)} />
            </span>
            <Button
              size="sm"
              variant="ghost"
              aria-label={words.enableOne(model, connection.name)}
              disabled={enable.isPending}
              onClick={() =>
                enable.mutate(
                  { provider: connection.provider, connection: connection.id, model },
                  { onSuccess: () => notify.done(words.enabled(1)), onError: report },
                )
              }
            >
              {words.enable}
            </Button>
          </li>
        ))}
      </ul>
      {locks.length > LOCKS_SHOWN && (
        <Link to="/settings/cooldowns" className="mt-2 inline-block text-accent-text hover:underline">
          {messages.connectionHealth.allLocks(locks.length)}
        </Link>
      )}
    </div>
  );
}
