import { useState } from "react";
import type { RequestRow } from "@/bindings";
import { CodeBlock } from "@/components/AgentSettings";
import { StateSign } from "@/components/StateSign";
import { Button } from "@/components/ui/button";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { curlAsk, findServedAgent } from "@/lib/agents";
import { now } from "@/lib/clock";
import { StepHeading } from "./StepHeading";
import { useSetupContext } from "./use-setup-context";

type RequestStepProps = {
  providerId: string;
  connectionId: string;
  chosenModel: string | undefined;
  madeKey: string | null;
  onBack(): void;
  onFinish(): void;
};

export function RequestStep(props: RequestStepProps) {
  const { providerId, connectionId, chosenModel, madeKey, onBack, onFinish } = props;
  const messages = useMessages();
  const words = messages.setup.request;
  const { preferences } = usePreferences();
  const context = useSetupContext(providerId, connectionId);
  const agent = findServedAgent(preferences.agent, context.dialects);
  // Only what arrives from here on counts as the first request of this set-up.
  const [since] = useState(() => new Date(now()).toISOString());
  const requests = useRead("requests_list", { limit: 5, since });
  const arrived = requests.data?.requests ?? [];
  const answered = arrived.find((request) => request.outcome === "success");
  const latest = arrived[0];

  return (
    <>
      <StepHeading title={words.title} help={words.help(agent.name)} onBack={answered ? undefined : onBack} />
      <div role="status">
        {answered ? <Answered request={answered} /> : latest ? <Refused request={latest} /> : <Waiting />}
      </div>
      {!answered && context.url && (
        <div className="mt-8">
          <p className="mb-2 text-ink-soft">{words.waitingHelp}</p>
          <CodeBlock
            title="curl"
            what="curl"
            text={curlAsk(context.dialect, {
              url: context.url,
              key: madeKey ?? messages.agents.keyPlaceholder,
              model: (chosenModel ?? context.firstModel) || messages.agents.modelPlaceholder,
            })}
          />
        </div>
      )}
      <div className="mt-8 flex gap-2">
        {answered ? (
          <Button variant="primary" onClick={onFinish}>
            {words.finish}
          </Button>
        ) : (
          <Button onClick={onFinish}>{words.later}</Button>
        )}
      </div>
    </>
  );
}

function Waiting() {
  const words = useMessages().setup.request;
  return (
    <p className="flex h-14 items-center gap-3 rounded-md bg-probing-soft px-4 font-medium text-probing">
      <StateSign state="probing" />
      {words.waiting}
    </p>
  );
}

function Answered({ request }: { request: RequestRow }) {
  const messages = useMessages();
  const format = useFormat();
  const words = messages.setup.request;
  return (
    <div className="flex animate-appear items-start gap-3 rounded-md bg-ready-soft px-4 py-3">
      <StateSign state="ready" className="mt-1.5" />
      <div className="min-w-0">
        <p className="font-semibold text-md text-ready">{words.arrived}</p>
        <p className="break-words">
          {words.arrivedHelp(
            request.agent ?? request.keyName ?? "curl",
            request.requestedModel,
            format.duration(request.durationMs),
          )}
        </p>
      </div>
    </div>
  );
}

function Refused({ request }: { request: RequestRow }) {
  const messages = useMessages();
  return (
    <div className="flex animate-appear items-start gap-3 rounded-md bg-blocked-soft px-4 py-3">
      <StateSign state="blocked" className="mt-1" />
      <div className="min-w-0">
        <p className="font-medium text-blocked">{messages.setup.request.failed}</p>
        <p className="select-text break-words text-ink-soft">
          {messages.probe.status(request.status)}
          {request.errorSummary && ` · ${request.errorSummary}`}
        </p>
      </div>
    </div>
  );
}
