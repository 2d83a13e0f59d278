/** A new connection to a provider of the catalogue: paste a key, test, save. Servers on this machine need no key. */
import { ChevronRight, ExternalLink } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { CatalogProvider, Connection, ConnectionDraft } from "@/bindings";
import { useHost } from "@/host";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { freeName } from "./AgentKey";
import { Field, SecretInput } from "./Field";
import { ProbeResult } from "./ProbeResult";
import { ErrorLine } from "./States";
import { Button } from "./ui/button";
import { Input } from "./ui/input";
import { Switch } from "./ui/switch";

type ConnectionFormProps = { provider: CatalogProvider; onDone(connection: Connection): void };

export function ConnectionForm({ provider, onDone }: ConnectionFormProps) {
  const messages = useMessages();
  const words = messages.connections;
  const existing = useRead("connections_list", { provider: provider.id });
  const names = existing.data?.connections.map((connection) => connection.name) ?? [];
  const validate = useChange("connection_validate");
  const create = useChange("connection_create");

  const keyless = provider.authType === "none";
  const [name, setName] = useState<string | null>(null);
  const [apiKey, setApiKey] = useState("");
  const [baseUrl, setBaseUrl] = useState("");
  const [allowPrivate, setAllowPrivate] = useState(false);
  const [advanced, setAdvanced] = useState(false);

  const shownName = name ?? freeName(provider.name, names);
  const input: ConnectionDraft = {
    provider: provider.id,
    name: shownName.trim(),
    ...(apiKey.trim() && { apiKey: apiKey.trim() }),
    ...((baseUrl.trim() || allowPrivate) && {
      providerSpecificData: {
        ...(baseUrl.trim() && { baseUrl: baseUrl.trim() }),
        ...(allowPrivate && { allowPrivateNetwork: true }),
      },
    }),
  };
  const complete = input.name !== "" && (keyless || apiKey.trim() !== "");
  const busy = validate.isPending || create.isPending;
  const refusal = create.error ?? validate.error;
  const failed = validate.data?.ok === false;

  const save = () => create.mutate(input, { onSuccess: ({ connection }) => onDone(connection) });
  const testAndSave = (event: FormEvent) => {
    event.preventDefault();
    if (!complete || busy) return;
    create.reset();
    validate.mutate(input, {
      onSuccess: (check) => {
        if (check.ok) save();
      },
    });
  };
  /** A result speaks of what was tested, not of what is typed since. */
  const editing = (change: () => void) => {
    validate.reset();
    create.reset();
    change();
  };

  const addressError = refusal?.field("providerSpecificData.baseUrl") ?? refusal?.field("baseUrl");
  const nameError = create.error?.code === "conflict" ? words.duplicateName : refusal?.field("name");
  const addressFields = (
    <>
      <Field
        label={words.baseUrl}
        optional
        help={`${words.baseUrlDefault(provider.baseUrl)}${keyless ? "" : ` · ${words.baseUrlHelp}`}`}
        error={addressError}
      >
        {(control) => (
          <Input
            {...control}
            mono
            type="url"
            placeholder={provider.baseUrl}
            value={baseUrl}
            onChange={(event) => editing(() => setBaseUrl(event.target.value))}
          />
        )}
      </Field>
      <PrivateNetworkSwitch checked={allowPrivate} onChange={(on) => editing(() => setAllowPrivate(on))} />
    </>
  );
  const keyField = (
    <Field
      label={words.key}
      optional={keyless}
      help={keyless ? words.keyOptional : words.keyHelp}
      error={refusal?.field("apiKey")}
    >
      {(control) => (
        <SecretInput
          {...control}
          {...(!keyless && { "data-autofocus": true })}
          placeholder={provider.keyHint ?? ""}
          value={apiKey}
          onChange={(event) => editing(() => setApiKey(event.target.value))}
        />
      )}
    </Field>
  );

  return (
    <form onSubmit={testAndSave} className="flex min-w-0 flex-col gap-4">
      {!keyless && (
        <div className="flex flex-col gap-1.5">
          {keyField}
          {provider.keyUrl && <KeyLink url={provider.keyUrl} />}
        </div>
      )}
      {keyless && addressFields}
      <Field label={words.name} help={words.nameHelp} error={nameError}>
        {(control) => (
          <Input
            {...control}
            {...(keyless && { "data-autofocus": true })}
            value={shownName}
            onChange={(event) => editing(() => setName(event.target.value))}
          />
        )}
      </Field>
      <Disclosure
        label={words.advanced}
        open={advanced || addressError !== undefined}
        onToggle={() => setAdvanced(!advanced)}
      >
        {keyless ? keyField : addressFields}
      </Disclosure>

      <ProbeResult outcome={validate.data} running={validate.isPending} />
      {refusal && !nameError && !addressError && <ErrorLine error={refusal} />}
      <div className="flex items-center gap-2">
        <Button variant="primary" type="submit" disabled={!complete || busy}>
          {words.testAndSave}
        </Button>
        {failed && (
          <Button onClick={save} disabled={busy}>
            {words.saveAnyway}
          </Button>
        )}
      </div>
    </form>
  );
}

function KeyLink({ url }: { url: string }) {
  const messages = useMessages();
  const host = useHost();
  return (
    <button
      type="button"
      onClick={() => void host.window.openLink(url)}
      title={url}
      className="inline-flex items-center gap-1 self-start text-accent-text text-xs hover:underline"
    >
      {messages.providers.getKey}
      <ExternalLink aria-hidden className="size-3" />
      <span className="sr-only">({messages.common.openInBrowser})</span>
    </button>
  );
}

export function PrivateNetworkSwitch({ checked, onChange }: { checked: boolean; onChange(on: boolean): void }) {
  const words = useMessages().connections;
  return (
    <div className="flex items-start gap-3">
      <Switch
        id="private-network"
        aria-describedby="private-network-help"
        checked={checked}
        onCheckedChange={onChange}
        className="mt-0.5"
      />
      <div>
        <label htmlFor="private-network" className="font-medium">
          {words.privateNetwork}
        </label>
        <p id="private-network-help" className="text-ink-faint text-xs">
          {words.privateNetworkHelp}
        </p>
      </div>
    </div>
  );
}

type DisclosureProps = { label: string; open: boolean; onToggle(): void; children: React.ReactNode };

export function Disclosure({ label, open, onToggle, children }: DisclosureProps) {
  return (
    <div className="flex flex-col gap-4">
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
        className="-ml-1 inline-flex items-center gap-1 self-start rounded-sm pr-1 text-ink-soft hover:text-ink"
      >
        <ChevronRight aria-hidden className={cn("size-4 transition-transform duration-100", open && "rotate-90")} />
        {label}
      </button>
      {open && children}
    </div>
  );
}
