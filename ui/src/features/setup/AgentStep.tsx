import { AgentKey } from "@/components/AgentKey";
import { AgentSettings } from "@/components/AgentSettings";
import { Field } from "@/components/Field";
import { ModelPicker } from "@/components/ModelPicker";
import { ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { usePreferences } from "@/host/preferences";
import { useMessages } from "@/i18n";
import { agentsServed, findServedAgent } from "@/lib/agents";
import { StepHeading } from "./StepHeading";
import { useSetupContext } from "./use-setup-context";

type AgentStepProps = {
  providerId: string;
  connectionId: string;
  chosenModel: string | undefined;
  onChooseModel(model: string): void;
  madeKey: string | null;
  onMadeKey(key: string): void;
  onBack(): void;
  onDone(): void;
};

export function AgentStep(props: AgentStepProps) {
  const { providerId, connectionId, chosenModel, onChooseModel, madeKey, onMadeKey, onBack, onDone } = props;
  const messages = useMessages();
  const words = messages.setup.agent;
  const { preferences, set } = usePreferences();
  const context = useSetupContext(providerId, connectionId);
  const agent = findServedAgent(preferences.agent, context.dialects);
  const model = chosenModel ?? context.firstModel;

  return (
    <>
      <StepHeading title={words.title} help={words.help} onBack={onBack} />
      {context.error && <ErrorState error={context.error} />}
      {!context.error && context.isPending && <SkeletonRows rows={5} height={64} />}
      {context.url && !context.isPending && (
        <div className="flex flex-col gap-5">
          <div className="grid grid-cols-2 gap-4">
            <Field label={messages.setup.steps.agent}>
              {(control) => (
                <Select
                  {...control}
                  value={agent.id}
                  options={agentsServed(context.dialects).map(({ id, name }) => ({ value: id, label: name }))}
                  onChange={(id) => set("agent", id)}
                />
              )}
            </Field>
            <Field label={messages.agents.model}>
              {(control) => (
                <ModelPicker control={control} value={model} models={context.models} onChange={onChooseModel} />
              )}
            </Field>
          </div>
          <AgentKey made={madeKey} onMade={onMadeKey} makeFirst />
          <AgentSettings
            key={agent.id}
            agent={agent}
            context={{
              url: context.url,
              key: madeKey ?? messages.agents.keyPlaceholder,
              model: model || messages.agents.modelPlaceholder,
            }}
          />
          <div>
            <Button variant="primary" onClick={onDone}>
              {messages.common.continue}
            </Button>
          </div>
        </div>
      )}
    </>
  );
}
