/**
 * From nothing to an answered request in under two minutes: choose a provider, paste its key and see the test pass, copy
 * the agent's settings, watch the first request arrive. Where one stands is in the URL; nothing is asked twice.
 */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { usePreferences } from "@/host/preferences";
import { AgentStep } from "./AgentStep";
import { KeyStep } from "./KeyStep";
import { Progress, type Step } from "./Progress";
import { ProviderStep } from "./ProviderStep";
import { RequestStep } from "./RequestStep";

export type SetupSearch = {
  /** Chosen in the first step. */
  provider?: string;
  /** Made, or found, in the second. */
  connection?: string;
  /** Chosen for the agent in the third; absent while it is the first one of the connection. */
  model?: string;
  /** Set once the agent's settings are copied. */
  step?: "request";
};

const route = getRouteApi("/setup");
const steps: readonly Step[] = ["provider", "key", "agent", "request"];

export function SetupScreen() {
  const navigate = useNavigate();
  const search = route.useSearch();
  const { set } = usePreferences();
  const [key, setKey] = useState<string | null>(null);
  const step = currentStep(search);
  const go = (next: SetupSearch) => void navigate({ to: "/setup", search: next });
  const leave = () => {
    set("onboarded", true);
    void navigate({ to: "/home" });
  };

  return (
    <div className="flex h-full">
      <Progress steps={steps} current={steps.indexOf(step)} onLeave={leave} />
      <div data-scroll className="min-w-0 flex-1 overflow-y-auto">
        <div className="mx-auto w-full max-w-[720px] px-8 pt-7 pb-16">
          {step === "provider" && <ProviderStep onPick={(provider) => go({ provider })} onResume={(c) => go(c)} />}
          {step === "key" && search.provider && (
            <KeyStep
              providerId={search.provider}
              onBack={() => go({})}
              onDone={(connection) => go({ provider: connection.provider, connection: connection.id })}
            />
          )}
          {step === "agent" && search.provider && search.connection && (
            <AgentStep
              providerId={search.provider}
              connectionId={search.connection}
              chosenModel={search.model}
              onChooseModel={(model) => go({ ...search, model })}
              madeKey={key}
              onMadeKey={setKey}
              onBack={() => go({})}
              onDone={() => go({ ...search, step: "request" })}
            />
          )}
          {step === "request" && search.provider && search.connection && (
            <RequestStep
              providerId={search.provider}
              connectionId={search.connection}
              chosenModel={search.model}
              madeKey={key}
              onBack={() => {
                const { step: _, ...before } = search;
                go(before);
              }}
              onFinish={leave}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function currentStep({ provider, connection, step }: SetupSearch): Step {
  if (!provider) return "provider";
  if (!connection) return "key";
  return step ?? "agent";
}
