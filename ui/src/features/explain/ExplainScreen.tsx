/** Who would be asked for a model right now, in which order, and what holds the others back. */
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { CandidateExplanation, ResilienceExplanation } from "@/bindings";
import { BreakerBadge } from "@/components/BreakerBadge";
import { Cause } from "@/components/Cause";
import { Fact, Facts } from "@/components/Facts";
import { Section } from "@/components/Field";
import { ModelPicker } from "@/components/ModelPicker";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { StatusBadge } from "@/components/StatusBadge";
import { useUntil } from "@/components/Time";
import { buttonClass } from "@/components/ui/button";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { breakerNow } from "@/lib/breaker";
import { useNow } from "@/lib/use-now";
import { Symptoms } from "./Symptoms";

const route = getRouteApi("/monitoring/explain");

export function ExplainScreen() {
  const words = useMessages().explain;
  const navigate = useNavigate();
  const { model } = route.useSearch();
  const models = useRead("models_list", {});
  const aliases = useRead("aliases_list", null);
  const names = [
    ...(aliases.data?.aliases.map(({ alias }) => alias) ?? []),
    ...(models.data?.models.map(({ qualified }) => qualified) ?? []),
  ];
  return (
    <Screen title={words.title} help={words.help}>
      <ModelPicker
        label={words.model}
        className="max-w-[480px]"
        value={model ?? ""}
        none={words.pick}
        models={names}
        onChange={(chosen) =>
          void navigate({ to: "/monitoring/explain", search: chosen ? { model: chosen } : {}, replace: true })
        }
      />
      {model ? (
        <Answer key={model} model={model} />
      ) : (
        <>
          <EmptyState title={words.startTitle} help={words.startHelp} />
          <Symptoms />
        </>
      )}
    </Screen>
  );
}

function Answer({ model }: { model: string }) {
  const messages = useMessages();
  const words = messages.explain;
  const read = useRead("resilience_explain", { model });
  const candidates = useLiveCandidates(read.data?.candidates);
  if (read.isPending) {
    return (
      <div className="mt-6">
        <SkeletonRows rows={5} height={64} />
      </div>
    );
  }
  if (read.error?.code === "not_found" || read.data?.candidates.length === 0) {
    return (
      <EmptyState
        title={words.noCandidatesTitle}
        help={read.error?.message ? `${words.noCandidatesHelp} (${read.error.message})` : words.noCandidatesHelp}
        action={
          <Link to="/providers" className={buttonClass()}>
            {messages.shell.providers}
          </Link>
        }
      />
    );
  }
  if (read.error) return <ErrorState error={read.error} onRetry={() => void read.refetch()} />;
  return (
    <>
      <Sentence candidates={candidates} />
      <Resolution explanation={read.data} readAt={read.dataUpdatedAt} />
      <Section title={words.candidates}>
        <ol aria-label={words.candidates}>
          {candidates.map((candidate, index) => (
            <CandidateRow
              key={`${candidate.connectionId} ${candidate.provider} ${candidate.model}`}
              candidate={candidate}
              position={candidates.slice(0, index + 1).filter(({ available }) => available).length}
            />
          ))}
        </ol>
      </Section>
    </>
  );
}

/** A timer that ended makes its candidate available; whether something else holds it back is read again soon after. */
function useLiveCandidates(candidates: readonly CandidateExplanation[] | undefined): CandidateExplanation[] {
  const now = useNow();
  return (candidates ?? []).map((candidate) =>
    !candidate.available && candidate.until !== null && Date.parse(candidate.until) <= now
      ? { ...candidate, available: true, mechanism: null, reason: null, until: null, cause: null }
      : candidate,
  );
}

function Sentence({ candidates }: { candidates: readonly CandidateExplanation[] }) {
  const messages = useMessages();
  const words = messages.explain.answer;
  const format = useFormat();
  const now = useNow();
  const nameOf = useProviderNames();
  const when = (instant: number) => {
    const { form, text } = format.until(instant, now);
    return messages.until[form](text);
  };
  const first = candidates.find(({ available }) => available);
  const ends = candidates.flatMap(({ until }) => (until ? [Date.parse(until)] : []));
  const text = first
    ? words.first(first.connectionName, nameOf(first.provider))
    : ends.length > 0
      ? words.noneUntil(when(Math.min(...ends)))
      : words.none;
  return (
    <p className="mt-6 break-words font-semibold text-md" aria-live="polite">
      {text}
    </p>
  );
}

function Resolution({ explanation, readAt }: { explanation: ResilienceExplanation; readAt: number }) {
  const messages = useMessages();
  const words = messages.explain;
  const rules = messages.requests.story.rules;
  const now = useNow();
  const { provider, resolvedModel, rule, breaker } = explanation;
  return (
    <div className="mt-2 mb-8">
      <Facts>
        <Fact label={words.resolved}>
          <code className="break-all font-mono">{`${provider}/${resolvedModel}`}</code>
        </Fact>
        {rule in rules && (
          <Fact label={words.resolvedBy}>
            <span title={messages.requests.story.ruleTechnical(rule)}>{rules[rule as keyof typeof rules]}</span>
          </Fact>
        )}
        <Fact label={words.breaker}>
          <Link
            to="/monitoring/health/$providerId"
            params={{ providerId: provider }}
            className="inline-flex max-w-full hover:underline"
          >
            <BreakerBadge state={breakerNow(breaker, readAt, now)} />
          </Link>
        </Fact>
      </Facts>
    </div>
  );
}

function CandidateRow({ candidate, position }: { candidate: CandidateExplanation; position: number }) {
  const messages = useMessages();
  const words = messages.explain;
  const back = useUntil();
  const nameOf = useProviderNames();
  const { connectionId, connectionName, provider, available, until } = candidate;
  return (
    <li className="flex items-start gap-4 border-b py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1">
        <div className="flex min-w-0 items-baseline gap-2">
          {connectionName && (
            <span className="truncate font-medium" title={connectionName}>
              {connectionName}
            </span>
          )}
          <span className={connectionName ? "shrink-0 text-ink-faint" : "font-medium"}>{nameOf(provider)}</span>
        </div>
        <p className="break-words text-ink-soft">
          {available ? position === 1 ? words.first : words.next(position) : <Why candidate={candidate} />}
        </p>
        <Cause cause={candidate.cause} />
      </div>
      <div className="flex w-44 shrink-0 flex-col items-start">
        {available ? <StatusBadge state="ready" word={words.available} /> : <Mechanism candidate={candidate} />}
        {until && <span className="pl-[18px] text-cooling">{back(Date.parse(until))}</span>}
      </div>
      {connectionId && (
        <Link
          to="/providers/$providerId/connections/$connectionId"
          params={{ providerId: provider, connectionId }}
          aria-label={words.openNamed(connectionName)}
          className={buttonClass({ size: "sm", variant: "ghost" })}
        >
          {words.openConnection}
        </Link>
      )}
    </li>
  );
}

function Mechanism({ candidate: { mechanism, until } }: { candidate: CandidateExplanation }) {
  const messages = useMessages();
  const { mechanisms } = messages.requests.story;
  const word =
    mechanism === null
      ? messages.explain.out
      : mechanism in mechanisms
        ? mechanisms[mechanism as keyof typeof mechanisms]
        : mechanism;
  const state =
    mechanism === "terminal_state" || mechanism === "switched_off" ? "terminal" : until ? "cooling" : "blocked";
  return <StatusBadge state={state} word={word} {...(mechanism && { title: mechanism })} />;
}

function Why({ candidate: { reason, mechanism } }: { candidate: CandidateExplanation }) {
  const messages = useMessages();
  const { reasons } = messages.requests.story;
  if (reason !== null && reason in reasons) return reasons[reason as keyof typeof reasons];
  if (reason !== null && reason in messages.resilience.lockReasons) {
    return messages.resilience.lockReasons[reason as keyof typeof messages.resilience.lockReasons];
  }
  return reason ?? mechanism ?? messages.explain.out;
}
