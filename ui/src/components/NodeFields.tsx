import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { carriers, type EndpointDraft, exampleUrl, type Family, isPrefix, prefixOf } from "@/lib/endpoint-draft";
import { PrivateNetworkSwitch } from "./ConnectionForm";
import { Field } from "./Field";
import { Input } from "./ui/input";
import { Segmented } from "./ui/segmented";
import { Select } from "./ui/select";

type NodeFieldsProps = {
  draft: EndpointDraft;
  onChange(draft: EndpointDraft): void;
  /** The endpoint exists: its prefix and format stay. */
  fixed?: boolean;
  /** What the gateway refused. */
  refusal: HostError | null;
};

const families: readonly Family[] = ["openai", "anthropic", "gemini"];

/** What has to be known about a server of one's own. */
export function NodeFields({ draft, onChange, fixed = false, refusal }: NodeFieldsProps) {
  const messages = useMessages();
  const words = messages.nodes;
  const set = (change: Partial<EndpointDraft>) => onChange({ ...draft, ...change });
  const prefix = prefixOf(draft);

  return (
    <>
      {!fixed && <FormatChoice draft={draft} onChange={set} />}
      <Field label={words.name} error={refusal?.field("name")}>
        {(control) => (
          <Input
            {...control}
            data-autofocus
            value={draft.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field label={words.baseUrl} help={words.baseUrlHelp(exampleUrl[draft.family])} error={refusal?.field("baseUrl")}>
        {(control) => (
          <Input
            {...control}
            mono
            type="url"
            placeholder={exampleUrl[draft.family]}
            value={draft.baseUrl}
            onChange={(event) => set({ baseUrl: event.target.value })}
          />
        )}
      </Field>
      <PrivateNetworkSwitch
        checked={draft.allowPrivateNetwork}
        onChange={(allowPrivateNetwork) => set({ allowPrivateNetwork })}
      />
      <div className="grid grid-cols-2 gap-4">
        <Field
          label={words.prefix}
          help={prefix ? words.prefixHelp(prefix) : words.prefixInvalid}
          error={refusal?.field("prefix") ?? (prefix && !isPrefix(prefix) ? words.prefixInvalid : undefined)}
        >
          {(control) => (
            <Input
              {...control}
              mono
              disabled={fixed}
              value={prefix}
              onChange={(event) => set({ prefix: event.target.value })}
            />
          )}
        </Field>
        <Field label={words.carrier} error={refusal?.field("authCarrier")}>
          {(control) => (
            <Select
              {...control}
              value={draft.carrier}
              options={carriers[draft.family].map((value) => ({ value, label: words.carriers[value] }))}
              onChange={(carrier) => set({ carrier })}
            />
          )}
        </Field>
      </div>
    </>
  );
}

type FormatChoiceProps = { draft: EndpointDraft; onChange(change: Partial<EndpointDraft>): void };

function FormatChoice({ draft, onChange }: FormatChoiceProps) {
  const words = useMessages().nodes;
  return (
    <div className="flex flex-col gap-1">
      <span className="font-medium">{words.format}</span>
      <div className="flex flex-wrap gap-2">
        <Segmented
          label={words.format}
          value={draft.family}
          options={families.map((value) => ({ value, label: words.formats[value].name }))}
          onChange={(family) => onChange({ family, carrier: carriers[family][0] ?? "bearer" })}
        />
        {draft.family === "openai" && (
          <Segmented
            label={words.api}
            value={draft.openAiApi}
            options={(["chat", "responses"] as const).map((value) => ({ value, label: words.apis[value] }))}
            onChange={(openAiApi) => onChange({ openAiApi })}
          />
        )}
      </div>
      <p className="text-ink-faint text-xs">{words.formats[draft.family].help}</p>
    </div>
  );
}
