/** Who can reach the gateway, what opens it, and where what it keeps is locked away. */
import { useState } from "react";
import type { SettingField } from "@/bindings";
import { Confirm } from "@/components/Confirm";
import { CopyLine } from "@/components/CopyButton";
import { CopyFact, Facts } from "@/components/Facts";
import { FieldRow, Section } from "@/components/Field";
import { notify, useReportError } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { SettingFields } from "@/components/SettingFields";
import { StateSign, stateText } from "@/components/StateSign";
import { ErrorLine, ErrorState, Skeleton } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import type { State } from "@/lib/connection-state";

export function SecurityScreen() {
  const words = useMessages().security;
  const settings = useRead("settings_fields", null);
  if (settings.error) {
    return (
      <Screen title={words.title}>
        <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
      </Screen>
    );
  }
  return (
    <Screen title={words.title}>
      <div className="max-w-[760px]">
        <Section title={words.reach}>
          <Exposure />
          <SettingFields paths={["gateway.requireApiKey", "gateway.bindAddress"]} />
        </Section>
        <Section title={words.edge} help={words.edgeHelp}>
          <SettingFields paths={["gateway.allowedHosts", "gateway.corsOrigins"]} />
        </Section>
        <Token />
        <Secrets />
      </div>
    </Screen>
  );
}

/** Sign, what is so, and what it means. */
function Statement({ state, title, help }: { state: State; title: string; help: string }) {
  return (
    <div className="flex items-start gap-2.5 border-b py-3 last:border-b-0">
      <StateSign state={state} className="mt-1" />
      <div className="min-w-0">
        <div className={cn("font-medium", stateText[state])}>{title}</div>
        <p className="break-words text-ink-soft">{help}</p>
      </div>
    </div>
  );
}

function Exposure() {
  const words = useMessages().security;
  const settings = useRead("settings_fields", null);
  if (!settings.data) return null;
  const value = (path: string) => settings.data.fields.find((field: SettingField) => field.path === path)?.value;
  const bind = value("gateway.bindAddress");
  const address = typeof bind === "string" ? bind : "127.0.0.1";
  const local = isLoopback(address);
  return (
    <>
      <Statement
        state={local ? "ready" : "degraded"}
        title={local ? words.local : words.network}
        help={local ? words.localHelp(address) : words.networkHelp(address)}
      />
      {value("gateway.requireApiKey") === false && (
        <Statement state="blocked" title={words.keyOff} help={words.keyOffHelp} />
      )}
    </>
  );
}

/** The token stays with the gateway until somebody wants to see or copy it. */
function Token() {
  const messages = useMessages();
  const words = messages.security;
  const report = useReportError();
  const app = useRead("app_get", null);
  const [revealed, setRevealed] = useState(false);
  const [asking, setAsking] = useState(false);
  const token = useRead("management_token_get", null, { enabled: revealed });
  const rotate = useChange("management_token_rotate");

  const rotateToken = () =>
    rotate.mutate(null, {
      onSuccess: () => notify.done(words.rotated),
      onError: (error) => (error.code === "conflict" ? notify.failed(words.fromEnvironment) : report(error)),
      onSettled: () => setAsking(false),
    });

  return (
    <Section title={words.token} help={words.tokenHelp}>
      <FieldRow
        label={revealed ? words.token : <span className="font-mono font-normal">{words.tokenHidden}</span>}
        help={
          app.data && (
            <>
              {words.tokenFile} <span className="select-text font-mono">{app.data.dataDir}/management-token</span>
            </>
          )
        }
      >
        <Button aria-expanded={revealed} onClick={() => setRevealed(!revealed)}>
          {revealed ? words.hide : words.reveal}
        </Button>
        <Button onClick={() => setAsking(true)}>{words.rotate}</Button>
      </FieldRow>
      {revealed && (
        <div className="border-b py-3">
          {token.isPending && <Skeleton className="h-8 w-full" />}
          {token.error && <ErrorLine error={token.error} />}
          {token.data && <CopyLine text={token.data.token} label={messages.common.copyOf(words.theToken)} />}
        </div>
      )}
      <Confirm
        open={asking}
        title={words.rotateTitle}
        help={words.rotateHelp}
        action={words.rotate}
        isPending={rotate.isPending}
        onCancel={() => setAsking(false)}
        onConfirm={rotateToken}
      />
    </Section>
  );
}

function Secrets() {
  const messages = useMessages();
  const words = messages.security;
  const app = useRead("app_get", null);
  return (
    <Section title={words.secrets} help={words.secretsHelp}>
      {!app.data && <Skeleton className="my-3 h-10 w-full" />}
      {app.data?.secretStore === "keychain" && (
        <Statement state="ready" title={words.keychain} help={words.keychainHelp} />
      )}
      {app.data?.secretStore === "file" && (
        <Statement state="degraded" title={words.file} help={words.fileHelp(`${app.data.dataDir}/data.key`)} />
      )}
      {app.data && (
        <div className="pt-3">
          <Facts>
            <CopyFact label={messages.about.dataFolder} value={app.data.dataDir} what={messages.about.theFolder} />
          </Facts>
        </div>
      )}
    </Section>
  );
}

function isLoopback(address: string): boolean {
  return address === "localhost" || address === "::1" || address.startsWith("127.");
}
