/** What a pool is made of: accounts, how much of them there is to share, and who gets which part. */
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import type { QuotaPreset } from "@/bindings";
import { ChoiceList } from "@/components/ChoiceList";
import { Field } from "@/components/Field";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useProviderNames } from "@/components/use-provider-names";
import type { HostError } from "@/host";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { limitsOf, nextKey, type PoolFields, slugOf } from "@/lib/pool-draft";
import { LimitRow } from "./LimitRow";
import { PartRow } from "./PartRow";

type PoolFormProps = { fields: PoolFields; onChange(fields: PoolFields): void; refusal: HostError | null };
type PartProps = { fields: PoolFields; set(part: Partial<PoolFields>): void; refusal: HostError | null };

export function PoolForm({ fields, onChange, refusal }: PoolFormProps) {
  const messages = useMessages();
  const words = messages.pools;
  const set = (part: Partial<PoolFields>) => onChange({ ...fields, ...part });
  const slug = fields.slug || slugOf(fields.name);
  const slugError = refusal?.code === "conflict" ? messages.fieldProblems.taken() : refusal?.field("slug");
  return (
    <>
      <Field label={words.name} error={refusal?.field("name")}>
        {(control) => (
          <Input
            {...control}
            data-autofocus
            value={fields.name}
            maxLength={100}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label={words.slug} optional help={words.slugHelp(slug)} error={slugError}>
        {(control) => (
          <Input
            {...control}
            mono
            placeholder={slugOf(fields.name)}
            value={fields.slug}
            maxLength={100}
            onChange={(event) => set({ slug: event.target.value })}
          />
        )}
      </Field>
      <Accounts fields={fields} set={set} refusal={refusal} />
      <Limits fields={fields} set={set} refusal={refusal} />
      <Parts fields={fields} set={set} refusal={refusal} />
    </>
  );
}

function Group({
  title,
  help,
  error,
  children,
}: {
  title: string;
  help: string;
  error?: string | undefined;
  children: ReactNode;
}) {
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <legend className="font-medium">{title}</legend>
      <p className="text-ink-faint text-xs">{help}</p>
      {children}
      {error && (
        <p role="alert" className="text-blocked text-xs">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function Accounts({ fields, set, refusal }: PartProps) {
  const messages = useMessages();
  const words = messages.pools;
  const read = useRead("connections_list", {});
  const providerName = useProviderNames();
  const known = read.data?.connections ?? [];
  // What was deleted since still stands in the pool, and can be taken out of it.
  const gone = fields.connections.filter((id) => read.data && !known.some((connection) => connection.id === id));
  const toggle = (id: string, on: boolean) =>
    set({ connections: on ? [...fields.connections, id] : fields.connections.filter((other) => other !== id) });
  return (
    <Group title={words.accounts} help={words.accountsHelp} error={refusal?.field("connections")}>
      <ChoiceList
        known={known.map(({ id, name, provider }) => ({ id, name, about: providerName(provider) }))}
        chosen={fields.connections}
        gone={gone}
        none={read.data ? words.noAccounts : null}
        filterLabel={messages.connections.filter}
        onToggle={toggle}
      />
    </Group>
  );
}

function Limits({ fields, set, refusal }: PartProps) {
  const words = useMessages().pools;
  const { limits } = fields;
  const add = () => set({ limits: [...limits, { key: nextKey(limits), unit: "requests", window: "5h", limit: "" }] });
  return (
    <Group title={words.limits} help={words.limitsHelp}>
      {limits.map((limit, index) => (
        <LimitRow
          key={limit.key}
          limit={limit}
          position={index + 1}
          error={problemAt(refusal, `dimensions.${index}`)}
          onChange={(next) => set({ limits: limits.map((other) => (other.key === limit.key ? next : other)) })}
          onRemove={() => set({ limits: limits.filter(({ key }) => key !== limit.key) })}
        />
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" onClick={add}>
          <Plus aria-hidden />
          {words.addLimit}
        </Button>
        <Presets onChoose={({ dimensions }) => set({ limits: limitsOf(dimensions) })} />
      </div>
    </Group>
  );
}

/** What is known of common subscriptions, to start from. */
function Presets({ onChoose }: { onChoose(preset: QuotaPreset): void }) {
  const words = useMessages().pools;
  const presets = useRead("quota_pools_list", null).data?.presets ?? [];
  if (presets.length === 0) return null;
  const none = { value: "", label: words.presetNone };
  const names: Readonly<Record<string, string>> = words.plans;
  const options = [none, ...presets.map(({ provider }) => ({ value: provider, label: names[provider] ?? provider }))];
  return (
    <div className="w-56">
      <Select
        aria-label={words.preset}
        value=""
        options={options}
        onChange={(chosen) => {
          const preset = presets.find(({ provider }) => provider === chosen);
          if (preset) onChoose(preset);
        }}
      />
    </div>
  );
}

function Parts({ fields, set, refusal }: PartProps) {
  const words = useMessages().pools;
  const keys = useRead("keys_list", null).data?.keys ?? [];
  const { parts } = fields;
  const free = keys.find(({ id }) => !parts.some(({ apiKeyId }) => apiKeyId === id));
  const add = () =>
    set({ parts: [...parts, { key: nextKey(parts), apiKeyId: free?.id ?? "", weight: "1", cap: "", policy: "soft" }] });
  return (
    <Group title={words.parts} help={words.partsHelp}>
      {parts.map((part, index) => (
        <PartRow
          key={part.key}
          part={part}
          parts={parts}
          index={index}
          keys={keys}
          capUnit={fields.limits[0]?.unit}
          error={problemAt(refusal, `allocations.${index}`)}
          onChange={(next) => set({ parts: parts.map((other) => (other.key === part.key ? next : other)) })}
          onRemove={() => set({ parts: parts.filter(({ key }) => key !== part.key) })}
        />
      ))}
      {parts.length === 0 && <p className="text-ink-faint">{words.everybody}</p>}
      <div>
        <Button size="sm" disabled={!free} title={free ? undefined : words.noFreeKey} onClick={add}>
          <Plus aria-hidden />
          {words.addPart}
        </Button>
      </div>
    </Group>
  );
}

/** What the gateway says about a line or a member of it. */
function problemAt(refusal: HostError | null, place: string): string | undefined {
  return refusal?.details.find(({ field }) => field === place || field.startsWith(`${place}.`))?.message;
}
