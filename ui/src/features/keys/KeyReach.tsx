/** What a key may use: models, combos, connections, and which of them first. */
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useId } from "react";
import { Field } from "@/components/Field";
import { IconButton } from "@/components/ui/button";
import { TextArea } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useProviderNames } from "@/components/use-provider-names";
import type { HostError } from "@/host";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { globMatches } from "@/lib/glob";
import { isAllowed, needsConnections } from "@/lib/key-draft";
import { lines } from "@/lib/lines";
import { AllowList, type PartProps } from "./parts";

type KeyReachProps = PartProps & { refusal: HostError | null };

export function KeyReach({ fields, set, refusal }: KeyReachProps) {
  return (
    <>
      <AllowedModels fields={fields} set={set} error={refusal?.field("allowedModels")} />
      <AllowedCombos fields={fields} set={set} error={refusal?.field("allowedCombos")} />
      <AllowedConnections fields={fields} set={set} error={refusal?.field("allowedConnections")} />
      <PreferredConnections fields={fields} set={set} error={refusal?.field("preferredConnections")} />
    </>
  );
}

function AllowedModels({ fields, set, error }: PartProps) {
  const words = useMessages().keys;
  const help = (
    <>
      {words.allowedModelsHelp} <Matching patterns={lines(fields.models)} />
    </>
  );
  return (
    <Field label={words.allowedModels} help={help} error={error}>
      {(control) => (
        <TextArea
          {...control}
          mono
          rows={3}
          placeholder={words.allowedModelsPlaceholder}
          value={fields.models}
          onChange={(event) => set({ models: event.target.value })}
        />
      )}
    </Field>
  );
}

/** How many of the models known now the patterns let through. */
function Matching({ patterns }: { patterns: readonly string[] }) {
  const words = useMessages().keys;
  const models = useRead("models_list", {});
  if (patterns.length === 0 || !models.data || models.data.models.length === 0) return null;
  const names = models.data.models.map((model) => model.qualified);
  const fitting = names.filter((name) => patterns.some((pattern) => globMatches(pattern, name)));
  return <span className="whitespace-nowrap">{words.matching(fitting.length, names.length)}</span>;
}

function AllowedCombos({ fields, set, error }: PartProps) {
  const messages = useMessages();
  const words = messages.keys;
  const id = useId();
  const combos = useRead("combos_list", { includeHidden: true });
  const own = combos.data?.combos.map(({ name }) => ({ id: name, name })) ?? [];
  return (
    <AllowList
      id={id}
      title={words.allowedCombos}
      words={{ all: words.allCombos, some: words.someCombos, none: words.noCombos, filter: messages.combos.filter }}
      chosen={fields.combos}
      mono
      known={[...own, { id: "auto", name: "auto", about: words.autoCombo }]}
      error={error}
      onChange={(chosen) => set({ combos: chosen })}
    />
  );
}

function AllowedConnections({ fields, set, error }: PartProps) {
  const messages = useMessages();
  const words = messages.keys;
  const id = useId();
  const connections = useRead("connections_list", {});
  const providerName = useProviderNames();
  const known = connections.data?.connections ?? [];
  const change = (chosen: readonly string[] | null) =>
    // Who may not be used cannot be preferred either.
    set({ connections: chosen, preferred: fields.preferred.filter((one) => chosen === null || chosen.includes(one)) });
  return (
    <AllowList
      id={id}
      title={words.allowedConnections}
      words={{
        all: words.allConnections,
        some: words.someConnections,
        none: words.noConnections,
        filter: messages.connections.filter,
      }}
      chosen={fields.connections}
      known={known.map(({ id: one, name, provider }) => ({ id: one, name, about: providerName(provider) }))}
      error={needsConnections(fields) ? words.leaseNeedsConnection : error}
      onChange={change}
    />
  );
}

function PreferredConnections({ fields, set, error }: PartProps) {
  const words = useMessages().keys;
  const connections = useRead("connections_list", {});
  const providerName = useProviderNames();
  const known = connections.data?.connections ?? [];
  const nameOf = (id: string) => known.find((connection) => connection.id === id)?.name ?? id;
  const chosen = fields.preferred;
  const left = known.filter(({ id }) => isAllowed(fields, id) && !chosen.includes(id));
  const move = (from: number, to: number) => {
    const order = [...chosen];
    order.splice(to, 0, ...order.splice(from, 1));
    set({ preferred: order });
  };
  if (chosen.length === 0 && left.length === 0) return null;
  return (
    <Field label={words.preferred} help={words.preferredHelp} error={error}>
      {(control) => (
        <>
          {chosen.length > 0 && (
            <ol aria-label={words.preferredOrder} className="mb-1 rounded-md border border-line py-1">
              {chosen.map((id, index) => (
                <li key={id} className="flex h-8 items-center gap-1 px-3">
                  <span className="min-w-0 flex-1 truncate" title={nameOf(id)}>
                    {index + 1}. {nameOf(id)}
                  </span>
                  <IconButton
                    label={words.earlier(nameOf(id))}
                    disabled={index === 0}
                    onClick={() => move(index, index - 1)}
                  >
                    <ArrowUp aria-hidden />
                  </IconButton>
                  <IconButton
                    label={words.later(nameOf(id))}
                    disabled={index === chosen.length - 1}
                    onClick={() => move(index, index + 1)}
                  >
                    <ArrowDown aria-hidden />
                  </IconButton>
                  <IconButton
                    label={words.noLongerPreferred(nameOf(id))}
                    onClick={() => set({ preferred: chosen.filter((other) => other !== id) })}
                  >
                    <X aria-hidden />
                  </IconButton>
                </li>
              ))}
            </ol>
          )}
          <Select
            {...control}
            value=""
            disabled={left.length === 0}
            options={[
              { value: "", label: words.prefer },
              ...left.map(({ id, name, provider }) => ({ value: id, label: `${name} (${providerName(provider)})` })),
            ]}
            onChange={(id) => id !== "" && set({ preferred: [...chosen, id] })}
          />
        </>
      )}
    </Field>
  );
}
