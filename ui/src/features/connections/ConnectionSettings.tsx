import { useState } from "react";
import type { CatalogProvider, Connection, ConnectionChange } from "@/bindings";
import { PrivateNetworkSwitch } from "@/components/ConnectionForm";
import { Field, SecretInput } from "@/components/Field";
import { ModelPicker } from "@/components/ModelPicker";
import { notify } from "@/components/notify";
import { ErrorLine } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useConnectionModels } from "@/components/use-connection-models";
import { WithIds } from "@/components/WithIds";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { lines } from "@/lib/lines";
import { allowsPrivateNetwork, baseUrlOf } from "@/lib/specific";
import { ConnectionLimits } from "./ConnectionLimits";
import { Group, SwitchRow, TextField } from "./parts";

type Props = {
  connection: Connection;
  provider: CatalogProvider | undefined;
  /** Whether there is a place to paste another key. */
  replacing: boolean;
  onReplacing(replacing: boolean): void;
};

export function ConnectionSettings(props: Props) {
  const { connection, provider } = props;
  const messages = useMessages();
  const words = messages.connections;
  const update = useChange("connection_update");
  const { models } = useConnectionModels(connection.id);
  const save = (change: ConnectionChange) => update.mutate({ id: connection.id, ...change });
  const refused = (field: string) => update.error?.field(field);
  const nameError = update.error?.code === "conflict" ? words.duplicateName : refused("name");
  const placed = nameError !== undefined || (update.error?.details.length ?? 0) > 0;

  return (
    <div className="flex flex-col gap-6">
      {update.error && !placed && <ErrorLine error={update.error} />}
      <Group title={words.general}>
        <SwitchRow
          label={words.active}
          help={words.activeHelp}
          checked={connection.isActive}
          onChange={(isActive) => save({ isActive })}
        />
        <TextField
          label={words.name}
          value={connection.name}
          error={nameError}
          onSave={(name) => name && save({ name })}
        />
      </Group>
      <Credential {...props} />
      <Group title={words.models}>
        <Field label={words.defaultModel} help={words.defaultModelHelp} error={refused("defaultModel")}>
          {(control) => (
            <ModelPicker
              control={control}
              value={connection.defaultModel ?? ""}
              models={models.map((model) => model.id)}
              none={words.anyModel}
              onChange={(model) => save({ defaultModel: model || null })}
            />
          )}
        </Field>
        <TextField
          label={words.excludedModels}
          help={words.excludedModelsHelp}
          value={connection.excludedModels.join("\n")}
          multiline
          mono
          error={refused("excludedModels")}
          onSave={(text) => save({ excludedModels: lines(text) })}
        />
      </Group>
      <ConnectionLimits connection={connection} refused={refused} save={save} />
      {!provider?.custom && (
        <Group title={words.address}>
          <TextField
            label={words.baseUrl}
            help={words.baseUrlHelp}
            value={baseUrlOf(connection)}
            placeholder={provider?.baseUrl}
            mono
            error={refused("providerSpecificData.baseUrl") ?? refused("baseUrl")}
            onSave={(baseUrl) => save({ providerSpecificData: { baseUrl: baseUrl || null } })}
          />
          <PrivateNetworkSwitch
            checked={allowsPrivateNetwork(connection)}
            onChange={(allowPrivateNetwork) => save({ providerSpecificData: { allowPrivateNetwork } })}
          />
        </Group>
      )}
    </div>
  );
}

function Credential({ connection, provider, replacing, onReplacing }: Props) {
  const messages = useMessages();
  const words = messages.connections;
  const isOptional = connection.authType === "none";
  const [key, setKey] = useState("");
  const update = useChange("connection_update");

  const replace = () =>
    update.mutate(
      { id: connection.id, apiKey: key.trim() },
      {
        onSuccess: () => {
          notify.done(words.keyReplaced);
          setKey("");
          onReplacing(false);
        },
      },
    );

  return (
    <Group title={words.credential}>
      <div className="flex items-center justify-between gap-4">
        <CredentialState connection={connection} />
        {!replacing && (
          <Button size="sm" onClick={() => onReplacing(true)}>
            {connection.hasCredential ? words.replaceKey : words.addKey}
          </Button>
        )}
      </div>
      {replacing && (
        <form
          className="flex flex-col gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            if (key.trim()) replace();
          }}
        >
          <Field label={words.newKey} help={words.keyHelp} error={update.error?.field("apiKey")}>
            {(control) => (
              <SecretInput
                {...control}
                // Whoever asked for the place wants to write in it; a connection that opens with it is read first.
                autoFocus={connection.hasCredential}
                placeholder={provider?.keyHint ?? ""}
                value={key}
                onChange={(event) => setKey(event.target.value)}
              />
            )}
          </Field>
          {update.error && update.error.details.length === 0 && <ErrorLine error={update.error} />}
          <div className="flex gap-2">
            <Button type="submit" variant="primary" size="sm" disabled={!key.trim() || update.isPending}>
              {connection.hasCredential ? words.replaceKey : words.addKey}
            </Button>
            {(connection.hasCredential || isOptional) && (
              <Button size="sm" onClick={() => onReplacing(false)}>
                {messages.common.cancel}
              </Button>
            )}
          </div>
        </form>
      )}
    </Group>
  );
}

function CredentialState({ connection }: { connection: Connection }) {
  const words = useMessages().connections;
  const { credentialTail: tail } = connection;
  if (connection.hasCredential) {
    return <span>{tail ? <WithIds text={words.keySet(tail)} ids={[tail]} /> : words.keyIsSet}</span>;
  }
  if (connection.authType === "none") return <span className="text-ink-soft">{words.keyNotNeeded}</span>;
  return <span className="text-blocked">{words.keyMissing}</span>;
}
