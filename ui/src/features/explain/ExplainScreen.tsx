/** Who would be asked for a model right now, in which order, and what holds the others back. */
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import type { ConnectionOutlook, ExpectedAnswer, RouteExplanation, TargetExplanation } from "@/bindings";
import { BreakerBadge } from "@/components/BreakerBadge";
import { Cause } from "@/components/Cause";
import { MechanismBadge, useReason } from "@/components/Exclusion";
import { Fact, Facts } from "@/components/Facts";
import { Field, Section } from "@/components/Field";
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
import { cn } from "@/lib/cn";
import { useNow } from "@/lib/use-now";
import { Symptoms } from "./Symptoms";

const route = getRouteApi("/monitoring/explain");

const SECOND = 1_000;

/** An account with what it would be asked for. */
type Candidate = ConnectionOutlook & Pick<TargetExplanation, "provider" | "model">;

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
      <Field label={words.model} className="max-w-[480px]">
        {(control) => (
          <ModelPicker
            control={control}
            value={model ?? ""}
            none={words.pick}
            models={names}
            onChange={(chosen) =>
              void navigate({ to: "/monitoring/explain", search: chosen ? { model: chosen } : {}, replace: true })
            }
          />
        )}
      </Field>
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
  const candidates = useLiveCandidates(read.data?.targets);
  if (read.isPending) {
    return (
      <div className="mt-6">
        <SkeletonRows rows={5} height={64} />
      </div>
    );
  }
  if (read.error?.code === "not_found" || (read.data && candidates.length === 0)) {
    return (
      <EmptyState
        title={words.noCandidatesTitle}
        help={words.noCandidatesHelp}
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
      <Sentence candidates={candidates} answer={read.data.answer} readAt={read.dataUpdatedAt} />
      <Resolution route={read.data.route} targets={read.data.targets} readAt={read.dataUpdatedAt} />
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
function useLiveCandidates(targets: readonly TargetExplanation[] | undefined): Candidate[] {
  const now = useNow();
  return (targets ?? []).flatMap(({ provider, model, connections }) =>
    connections.map((connection) => {
      const until = connection.exclusion?.until;
      const isOver = until && Date.parse(until) <= now;
      return { ...connection, provider, model, ...(isOver && { available: true, exclusion: null }) };
    }),
  );
}

type SentenceProps = { candidates: readonly Candidate[]; answer: ExpectedAnswer | null; readAt: number };

function Sentence({ candidates, answer, readAt }: SentenceProps) {
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
  const ends = candidates.flatMap(({ exclusion }) => (exclusion?.until ? [Date.parse(exclusion.until)] : []));
  const text = first
    ? words.first(first.connectionName, nameOf(first.provider))
    : ends.length > 0
      ? words.noneUntil(when(Math.min(...ends)))
      : words.none;
  // An agent that asks is never told less than a second.
  const comeBack = (seconds: number) => when(Math.max(now + SECOND, readAt + seconds * SECOND));
  return (
    <>
      <p className="mt-6 break-words font-semibold text-md" aria-live="polite">
        {text}
      </p>
      {answer && !first && (
        <p className="mt-1 text-ink-soft" title={answer.code}>
          {answer.retryAfterSeconds === null
            ? words.refused(answer.status)
            : words.refusedUntil(answer.status, comeBack(answer.retryAfterSeconds))}
        </p>
      )}
    </>
  );
}

type ResolutionProps = { route: RouteExplanation; targets: readonly TargetExplanation[]; readAt: number };

/** What the name means: how it was understood, and every model behind it with the state of its provider. */
function Resolution({ route: { rule }, targets, readAt }: ResolutionProps) {
  const messages = useMessages();
  const words = messages.explain;
  const rules = messages.requests.story.rules;
  return (
    <div className="mt-2 mb-8">
      <Facts>
        {rule in rules && (
          <Fact label={words.resolvedBy}>
            <span title={messages.requests.story.ruleTechnical(rule)}>{rules[rule as keyof typeof rules]}</span>
          </Fact>
        )}
        <Fact label={words.resolved}>
          <ul className="grid grid-cols-[minmax(0,auto)_1fr] gap-x-4 gap-y-1">
            {targets.map((target) => (
              <Meant key={target.executionKey} target={target} readAt={readAt} />
            ))}
          </ul>
        </Fact>
      </Facts>
    </div>
  );
}

function Meant({ target: { provider, model, breaker }, readAt }: { target: TargetExplanation; readAt: number }) {
  const now = useNow();
  const nameOf = useProviderNames();
  return (
    <li className="col-span-2 grid grid-cols-subgrid items-baseline">
      <code className="break-all font-mono">{`${provider}/${model}`}</code>
      <Link
        to="/monitoring/health/$providerId"
        params={{ providerId: provider }}
        title={nameOf(provider)}
        className="inline-flex max-w-full justify-self-start hover:underline"
      >
        <BreakerBadge state={breakerNow(breaker, readAt, now)} />
      </Link>
    </li>
  );
}

function CandidateRow({ candidate, position }: { candidate: Candidate; position: number }) {
  const messages = useMessages();
  const words = messages.explain;
  const back = useUntil();
  const reason = useReason();
  const nameOf = useProviderNames();
  const { connectionId, connectionName, provider, exclusion } = candidate;
  return (
    <li className="flex items-start gap-4 border-b py-2.5 last:border-b-0">
      <div className="min-w-0 flex-1">
        <div className="flex min-w-0 items-baseline gap-2">
          <span className="truncate font-medium" title={connectionName}>
            {connectionName}
          </span>
          <span className="shrink-0 text-ink-faint">{nameOf(provider)}</span>
        </div>
        <p className="break-words text-ink-soft">
          {exclusion ? reason(exclusion.reason) : position === 1 ? words.first : words.next(position)}
        </p>
        <Cause cause={exclusion?.cause ?? null} />
      </div>
      <div className="flex w-44 shrink-0 flex-col items-start">
        {exclusion ? <MechanismBadge exclusion={exclusion} /> : <StatusBadge state="ready" word={words.available} />}
        {exclusion?.until && <span className="pl-[18px] text-cooling">{back(Date.parse(exclusion.until))}</span>}
      </div>
      <Link
        to="/providers/$providerId/connections/$connectionId"
        params={{ providerId: provider, connectionId }}
        aria-label={words.openNamed(connectionName)}
        className={cn(buttonClass({ size: "sm", variant: "ghost" }), "-mt-1 -mr-2")}
      >
        {words.openConnection}
      </Link>
    </li>
  );
}
