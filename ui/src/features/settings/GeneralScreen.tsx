import { useMutation, useQuery } from "@tanstack/react-query";
import { FolderOpen } from "lucide-react";
import { useId } from "react";
import { CopyLine } from "@/components/CopyButton";
import { FieldRow, Section } from "@/components/Field";
import { notify } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { SettingFields } from "@/components/SettingFields";
import { ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Segmented } from "@/components/ui/segmented";
import { Switch } from "@/components/ui/switch";
import { useHost } from "@/host";
import { usePreferences } from "@/host/preferences";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { baseUrl, dialects } from "@/lib/addresses";

export function GeneralScreen() {
  const messages = useMessages();
  return (
    <Screen title={messages.settings.general.title}>
      <div className="max-w-[760px]">
        <Appearance />
        <WindowSettings />
        <FromGateway />
      </div>
    </Screen>
  );
}

function Appearance() {
  const messages = useMessages();
  const words = messages.settings.general;
  const { preferences, set } = usePreferences();
  return (
    <Section title={words.appearance}>
      <FieldRow label={words.theme}>
        <Segmented
          label={words.theme}
          value={preferences.theme}
          options={(["system", "light", "dark"] as const).map((value) => ({ value, label: words.themes[value] }))}
          onChange={(theme) => set("theme", theme)}
        />
      </FieldRow>
      <FieldRow label={words.language}>
        <Segmented
          label={words.language}
          value={preferences.language}
          options={(["system", "en", "it"] as const).map((value) => ({ value, label: words.languages[value] }))}
          onChange={(language) => set("language", language)}
        />
      </FieldRow>
    </Section>
  );
}

/** What only the desktop window can do. A browser tab has none of it. */
function WindowSettings() {
  const messages = useMessages();
  const words = messages.settings.general;
  const { window } = useHost();
  const { preferences, set } = usePreferences();
  const id = useId();
  if (!window.startAtLogin && !window.tray) return null;
  return (
    <Section title={words.window}>
      {window.startAtLogin && <StartAtLogin control={window.startAtLogin} />}
      {window.tray && (
        <FieldRow htmlFor={id} helpId={`${id}-help`} label={words.closeToTray} help={words.closeToTrayHelp}>
          <Switch
            id={id}
            aria-describedby={`${id}-help`}
            checked={preferences.closeToTray}
            onCheckedChange={(on) => set("closeToTray", on)}
          />
        </FieldRow>
      )}
      {window.openDataFolder && <DataFolder open={window.openDataFolder} />}
    </Section>
  );
}

function StartAtLogin({ control }: { control: { get(): Promise<boolean>; set(enabled: boolean): Promise<void> } }) {
  const words = useMessages().settings.general;
  const id = useId();
  const enabled = useQuery({ queryKey: ["window", "start-at-login"], queryFn: () => control.get() });
  const change = useMutation({
    mutationFn: (on: boolean) => control.set(on),
    onError: (error) => notify.failed(words.startAtLoginFailed, error.message),
    onSettled: () => enabled.refetch(),
  });
  return (
    <FieldRow htmlFor={id} helpId={`${id}-help`} label={words.startAtLogin} help={words.startAtLoginHelp}>
      <Switch
        id={id}
        aria-describedby={`${id}-help`}
        checked={change.isPending ? change.variables : (enabled.data ?? false)}
        disabled={enabled.isPending}
        onCheckedChange={(on) => change.mutate(on)}
      />
    </FieldRow>
  );
}

function DataFolder({ open }: { open(): Promise<void> }) {
  const words = useMessages().settings.general;
  const app = useRead("app_get", null);
  return (
    <FieldRow label={words.dataFolder} help={<span className="select-text font-mono">{app.data?.dataDir ?? ""}</span>}>
      <Button onClick={() => void open()}>
        <FolderOpen aria-hidden />
        {words.openFolder}
      </Button>
    </FieldRow>
  );
}

/** What the gateway has to be asked for. While it does not answer, that is said once for all of it. */
function FromGateway() {
  const settings = useRead("settings_fields", null);
  const app = useRead("app_get", null);
  const error = settings.error ?? app.error;
  if (error) {
    const again = () => {
      void settings.refetch();
      void app.refetch();
    };
    return <ErrorState error={error} onRetry={again} />;
  }
  return (
    <>
      <Gateway />
      <Addresses />
      <RequestLog />
    </>
  );
}

function Gateway() {
  const messages = useMessages();
  const words = messages.settings;
  return (
    <Section title={words.general.gateway}>
      <SettingFields
        paths={["gateway.port", "gateway.requireApiKey"]}
        refusals={{ "gateway.port": words.portInUse }}
        onSaved={(field, value) => {
          if (field.path === "gateway.port") notify.done(words.general.portMoved(Number(value ?? field.default)));
        }}
      />
    </Section>
  );
}

function Addresses() {
  const messages = useMessages();
  const words = messages.settings.general;
  const app = useRead("app_get", null);
  return (
    <Section title={words.addresses} help={words.addressesHelp}>
      {app.isPending && <SkeletonRows rows={4} height={56} />}
      {app.data &&
        dialects.map((dialect) => {
          const address = baseUrl(app.data.url, dialect);
          return (
            <FieldRow key={dialect} label={messages.dialects[dialect]} help={words.dialectPaths[dialect]}>
              <CopyLine
                className="w-72"
                text={address}
                label={messages.common.copyOf(`${messages.dialects[dialect]}: ${address}`)}
              />
            </FieldRow>
          );
        })}
    </Section>
  );
}

function RequestLog() {
  const words = useMessages().traffic.log;
  return (
    <Section title={words.title} help={words.help}>
      <SettingFields
        paths={["logging.retentionDays", "logging.usageRetentionDays", "logging.detailed", "logging.bodyRetentionDays"]}
      />
    </Section>
  );
}
