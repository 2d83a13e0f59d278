import { useState } from "react";
import { AgentKey } from "@/components/AgentKey";
import { AgentList } from "@/components/AgentList";
import { AgentSettings, CodeBlock } from "@/components/AgentSettings";
import { Field } from "@/components/Field";
import { FilterInput } from "@/components/FilterInput";
import { ModelPicker } from "@/components/ModelPicker";
import { Screen } from "@/components/Screen";
import { ErrorState, SkeletonRows } from "@/components/States";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { type Agent, curlModels, findAgent } from "@/lib/agents";

/** The exact settings of every tool, to copy. Nothing on the machine is changed. */
export function AgentsScreen() {
  const messages = useMessages();
  const words = messages.agents;
  const { preferences, set } = usePreferences();
  const [filter, setFilter] = useState("");
  const app = useRead("app_get", null);
  const agent = findAgent(preferences.agent);

  return (
    <Screen
      title={words.title}
      help={words.help}
      actions={<FilterInput label={words.filter} value={filter} onChange={setFilter} className="w-52" />}
    >
      <div className="flex items-start gap-8">
        <div className="-ml-2 w-44 shrink-0">
          <AgentList chosen={agent.id} filter={filter} onChoose={({ id }) => set("agent", id)} />
        </div>
        <div className="min-w-0 max-w-[720px] flex-1">
          {app.isPending && <SkeletonRows rows={6} height={56} />}
          {app.error && <ErrorState error={app.error} onRetry={() => void app.refetch()} />}
          {app.data && <AgentDetail agent={agent} url={app.data.url} />}
        </div>
      </div>
    </Screen>
  );
}

function AgentDetail({ agent, url }: { agent: Agent; url: string }) {
  const messages = useMessages();
  const words = messages.agents;
  const models = useRead("models_list", {});
  const names = models.data?.models.filter((model) => model.enabled).map((model) => model.qualified) ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [key, setKey] = useState<string | null>(null);
  const model = chosen ?? names[0] ?? "";
  const context = { url, key: key ?? words.keyPlaceholder, model: model || words.modelPlaceholder };

  return (
    <article aria-labelledby="agent" className="flex flex-col gap-5">
      <header>
        <h2 id="agent" className="font-semibold text-md">
          {agent.name}
        </h2>
        <p className="text-ink-soft">{words.speaks(messages.dialects[agent.dialect])}</p>
      </header>
      <div className="grid gap-4 wide:grid-cols-2">
        <Field label={words.model} help={words.modelHelp}>
          {(control) => <ModelPicker control={control} value={model} models={names} onChange={setChosen} />}
        </Field>
        <div className="flex min-w-0 flex-col gap-1">
          <span className="font-medium">{words.key}</span>
          <AgentKey made={key} onMade={setKey} />
        </div>
      </div>
      <AgentSettings key={agent.id} agent={agent} context={context} />
      {agent.id !== "curl" && (
        <section className="flex flex-col gap-2">
          <div>
            <h3 className="font-medium">{words.check}</h3>
            <p className="text-ink-faint text-xs">{words.checkHelp}</p>
          </div>
          <CodeBlock title="curl" what="curl" text={curlModels(context)} />
        </section>
      )}
      <p className="text-ink-faint text-xs">{words.notes.proxy}</p>
    </article>
  );
}
