/** The story of one request: what was asked, who was tried and who was not, what it took, and what helps next time. */
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Check, Terminal } from "lucide-react";
import type { ReactNode } from "react";
import type { RequestDetail } from "@/bindings";
import { CopyFact, Fact, Facts } from "@/components/Facts";
import { LongText } from "@/components/LongText";
import { OutcomeBadge } from "@/components/OutcomeBadge";
import { SidePanel } from "@/components/SidePanel";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { Button, buttonClass } from "@/components/ui/button";
import { WithIds } from "@/components/WithIds";
import { useRead } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { agentName } from "@/lib/agent-name";
import type { Format } from "@/lib/format";
import { useCopy } from "@/lib/hooks";
import { requestCurl } from "@/lib/request-curl";
import { servedModel } from "@/lib/request-story";
import { AttemptTimeline } from "./AttemptTimeline";
import { Bodies } from "./Bodies";
import { Exclusions } from "./Exclusions";

const route = getRouteApi("/requests/$requestId");

export function RequestPanel() {
  const words = useMessages().requests.story;
  const navigate = useNavigate();
  const { requestId } = route.useParams();
  const detail = useRead("request_get", { id: requestId });
  const close = () => void navigate({ to: "/requests", search: true });

  if (detail.data) return <Story key={requestId} request={detail.data} onClose={close} />;
  return (
    <SidePanel wide title={words.title} onClose={close}>
      {detail.isPending && <SkeletonRows rows={6} height={64} />}
      {detail.error?.code === "not_found" ? (
        <EmptyState title={words.notFound} help={words.notFoundHelp} />
      ) : (
        detail.error && <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />
      )}
    </SidePanel>
  );
}

function Story({ request, onClose }: { request: RequestDetail; onClose(): void }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const format = useFormat();
  const { trace } = request;
  return (
    <SidePanel
      wide
      title={<WithIds text={summary(request, messages, format)} ids={[request.requestedModel]} />}
      subtitle={
        <span className="flex flex-wrap items-center gap-x-3">
          <OutcomeBadge request={request} />
          <RelativeTime at={request.timestamp} className="text-ink-faint" />
        </span>
      }
      onClose={onClose}
      footer={<CopyCurl request={request} />}
    >
      <div className="flex flex-col gap-7">
        {request.outcome === "failure" && <Failure request={request} />}
        {trace.attempts.length > 0 && (
          <Part title={words.attemptsTitle}>
            <AttemptTimeline request={request} />
          </Part>
        )}
        {trace.exclusions.length > 0 && (
          <Part title={words.exclusionsTitle}>
            <Exclusions request={request} />
          </Part>
        )}
        <Part title={words.route}>
          <Route request={request} />
        </Part>
        <Part title={words.usage}>
          <Usage request={request} />
        </Part>
        {trace.changes.length > 0 && (
          <Part title={words.warnings}>
            <ul className="flex flex-col gap-1">
              {trace.changes.map((change) => (
                <Change key={change} change={change} />
              ))}
            </ul>
          </Part>
        )}
        {(request.requestBody !== null || request.responseBody !== null) && (
          <Part title={words.bodies}>
            <Bodies request={request} />
          </Part>
        )}
        <Part title={words.ids}>
          <Facts>
            <CopyFact label={words.requestId} value={request.id} />
            {request.connectionId && <CopyFact label={words.connectionId} value={request.connectionId} />}
            {request.keyId && <CopyFact label={words.keyId} value={request.keyId} />}
            {request.sessionTag && <CopyFact label={words.session} value={request.sessionTag} />}
          </Facts>
        </Part>
      </div>
    </SidePanel>
  );
}

/** A code, and what it is about where it names that: `DROPPED_PARAMETER:top_k`. */
function Change({ change }: { change: string }) {
  const { changes } = useMessages().requests.story;
  const [code = "", ...about] = change.split(":");
  const said = code in changes ? changes[code as keyof typeof changes] : code;
  return (
    <li title={change}>
      {about.length > 0 && <code className="mr-2 font-mono text-xs">{about.join(":")}</code>}
      <span className="text-ink-soft">{said}</span>
    </li>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="mb-2.5 border-b pb-1.5 font-medium text-ink-soft text-xs">{title}</h3>
      {children}
    </section>
  );
}

/** One sentence that tells the whole. */
function summary(request: RequestDetail, messages: Messages, format: Format): string {
  const words = messages.requests.story;
  const agent = request.agent ? agentName(request.agent) : messages.requests.unknownAgent;
  const { requestedModel: model, trace } = request;
  // A number and its unit stay on one line.
  const duration = format.duration(request.durationMs).replaceAll(" ", "\u00a0");
  const connection = request.connectionName ?? request.provider ?? "–";
  switch (request.outcome) {
    case "success": {
      // Those that worked beside or before the answering one did not fail.
      const failed = trace.attempts.filter(({ kind }) => kind !== "success").length;
      return failed > 0
        ? words.answeredAfter(agent, model, connection, duration, failed)
        : words.answered(agent, model, connection, duration);
    }
    case "aborted":
      return request.ttftMs === null
        ? words.abortedBefore(agent, model, duration)
        : words.aborted(agent, model, duration);
    case "failure":
      return trace.attempts.length > 0
        ? words.failed(agent, model, trace.attempts.length)
        : words.refused(agent, model);
  }
}

/** What it was in plain words, what helps, and what the agent was told. */
function Failure({ request }: { request: RequestDetail }) {
  const words = useMessages().requests;
  const { title, help } = failureWords(request, words);
  // The provider's own words stand with its attempt already.
  const said = request.trace.attempts.some(({ message }) => message === request.errorSummary)
    ? null
    : request.errorSummary;
  return (
    <section role="note" className="rounded-md bg-blocked-soft px-3 py-2.5">
      <h3 className="font-medium">{title}</h3>
      <p className="text-ink-soft">{help}</p>
      {said && (
        <div className="mt-2 text-ink-soft text-xs" title={words.story.said}>
          <LongText text={`“${said}”`} />
        </div>
      )}
      <FailureAction request={request} />
    </section>
  );
}

function FailureAction({ request }: { request: RequestDetail }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const look = buttonClass({ size: "sm" });
  const link = (() => {
    switch (request.errorCode) {
      case "no_executable_targets":
        return (
          <Link to="/providers/add" className={look}>
            {messages.providers.add}
          </Link>
        );
      case "model_not_found":
        return (
          <Link to="/providers" className={look}>
            {messages.shell.providers}
          </Link>
        );
      case "permission_denied":
        return request.keyId ? (
          <Link to="/settings/keys/$keyId" params={{ keyId: request.keyId }} className={look}>
            {words.openKey}
          </Link>
        ) : null;
      case "upstream_auth_failed":
        return request.provider && request.connectionId ? (
          <Link
            to="/providers/$providerId/connections/$connectionId"
            params={{ providerId: request.provider, connectionId: request.connectionId }}
            className={look}
          >
            {words.openConnection}
          </Link>
        ) : null;
      default:
        return request.provider && request.trace.attempts.length > 0 ? (
          <Link to="/settings/rules/add" search={{ provider: request.provider }} className={look}>
            {messages.rules.fromError}
          </Link>
        ) : null;
    }
  })();
  return link && <div className="mt-2.5 flex">{link}</div>;
}

function Route({ request }: { request: RequestDetail }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const format = useFormat();
  const served = servedModel(request);
  const { rule, order } = request.trace;
  const formats = [request.sourceFormat, request.targetFormat].filter((dialect) => dialect !== null);
  return (
    <Facts>
      <CopyFact label={words.asked} value={request.requestedModel} />
      <Fact label={words.resolvedBy}>
        <span title={rule === null ? undefined : words.ruleTechnical(rule)}>{ruleWords(rule, words)}</span>
      </Fact>
      {request.comboName && (
        <Fact label={words.combo}>
          <Link
            to="/requests"
            search={{ combo: request.comboName }}
            title={words.comboRequests(request.comboName)}
            className="break-all font-mono text-accent-text hover:underline"
          >
            {request.comboName}
          </Link>
        </Fact>
      )}
      {request.comboName && request.strategy && (
        <Fact label={words.strategy}>
          <span title={strategyOf(request.strategy, messages)?.help}>
            {strategyOf(request.strategy, messages)?.name ?? request.strategy}
          </span>
        </Fact>
      )}
      {request.comboName && order.length > 1 && (
        <Fact label={words.planned}>
          <span className="break-words font-mono text-xs">{order.join(" › ")}</span>
        </Fact>
      )}
      {served && <CopyFact label={request.outcome === "success" ? words.served : words.lastTried} value={served} />}
      {request.provider && request.connectionId && (
        <Fact label={words.connection}>
          <Link
            to="/providers/$providerId/connections/$connectionId"
            params={{ providerId: request.provider, connectionId: request.connectionId }}
            className="text-accent-text hover:underline"
          >
            {request.connectionName ?? request.connectionId}
          </Link>
        </Fact>
      )}
      {request.keyId && (
        <Fact label={words.key}>
          <Link
            to="/settings/keys/$keyId"
            params={{ keyId: request.keyId }}
            className="text-accent-text hover:underline"
          >
            {request.keyName ?? request.keyId}
          </Link>
        </Fact>
      )}
      <Fact label={words.format}>
        {[...new Set(formats)].map((dialect) => messages.dialects[dialect]).join(" → ")},{" "}
        {request.stream ? words.streamed : words.whole}
      </Fact>
      <Fact label={words.arrived}>
        <time dateTime={request.timestamp}>{format.full(Date.parse(request.timestamp))}</time>
      </Fact>
      {request.ttftMs !== null && <Fact label={words.firstToken}>{format.duration(request.ttftMs)}</Fact>}
      <Fact label={words.total}>{format.duration(request.durationMs)}</Fact>
      {request.errorCode && <CopyFact label={words.code} value={request.errorCode} />}
    </Facts>
  );
}

function Usage({ request }: { request: RequestDetail }) {
  const words = useMessages().requests.story;
  const format = useFormat();
  if (request.tokensInput === null && request.tokensOutput === null) {
    return <p className="text-ink-faint">{words.noUsage}</p>;
  }
  const parts = (...all: [number | null, string][]) =>
    all
      .filter(([n]) => n !== null && n > 0)
      .map(([n, word]) => `${format.number(n ?? 0)} ${word}`)
      .join(", ");
  const ofInput = parts([request.tokensCacheRead, words.cacheRead], [request.tokensCacheCreation, words.cacheWrite]);
  const ofOutput = parts([request.tokensReasoning, words.reasoning]);
  return (
    <>
      <Facts>
        <Fact label={words.input}>
          {words.tokens(format.number(request.tokensInput ?? 0))}
          {ofInput && <span className="text-ink-faint"> · {ofInput}</span>}
        </Fact>
        <Fact label={words.output}>
          {words.tokens(format.number(request.tokensOutput ?? 0))}
          {ofOutput && <span className="text-ink-faint"> · {ofOutput}</span>}
        </Fact>
        <Fact label={words.cost}>
          {request.cost === null ? (
            <span className="text-ink-faint">{words.noPrice}</span>
          ) : (
            format.dollars(request.cost)
          )}
        </Fact>
      </Facts>
      {request.estimated && <p className="mt-1.5 text-ink-faint text-xs">{words.estimated}</p>}
    </>
  );
}

function CopyCurl({ request }: { request: RequestDetail }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const app = useRead("app_get", null);
  const [copied, copy] = useCopy();
  const url = app.data?.url;
  return (
    <>
      <Button
        disabled={url === undefined}
        onClick={() =>
          void copy(requestCurl(request, url ?? "", { key: messages.agents.keyPlaceholder, prompt: words.curlPrompt }))
        }
      >
        {copied ? <Check aria-hidden className="text-ready" /> : <Terminal aria-hidden />}
        {copied ? messages.common.copied : words.copyCurl}
      </Button>
      <span className="min-w-0 text-ink-faint text-xs">{words.curlHelp}</span>
      <span role="status" className="sr-only">
        {copied ? messages.common.copied : ""}
      </span>
    </>
  );
}

/** A code that blames the provider says little where nobody was asked: there it repeats an earlier failure. */
function failureWords({ errorCode, trace }: RequestDetail, words: Messages["requests"]) {
  const repeats = trace.attempts.length === 0 && trace.exclusions.length > 0 && ofProvider.has(errorCode ?? "");
  return repeats ? words.codes.ALL_TARGETS_SKIPPED : codeWords(errorCode, words);
}

const ofProvider: ReadonlySet<string> = new Set([
  "bad_gateway",
  "gateway_timeout",
  "internal_server_error",
  "rate_limit_exceeded",
  "upstream_auth_failed",
]);

function codeWords(code: string | null, { codes }: Messages["requests"]): { title: string; help: string } {
  return code !== null && code in codes ? codes[code as keyof typeof codes] : codes.other;
}

function ruleWords(rule: number | null, { rules, ruleNone }: Messages["requests"]["story"]): string {
  if (rule === null) return ruleNone;
  return rule in rules ? rules[rule as keyof typeof rules] : String(rule);
}

function strategyOf(word: string, { combos: { strategies } }: Messages) {
  return word in strategies ? strategies[word as keyof typeof strategies] : undefined;
}
