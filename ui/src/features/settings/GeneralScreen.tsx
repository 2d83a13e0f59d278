import { useMutation, useQuery } from "@tanstack/react-query";
import { FolderOpen } from "lucide-react";
import { useId, useState } from "react";
import type { JsonValue, SettingField as SettingFieldView } from "@/bindings";
import { CopyLine } from "@/components/CopyButton";
import { FieldRow, Section } from "@/components/Field";
import { notify } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { SettingField } from "@/components/SettingField";
import { ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Segmented } from "@/components/ui/segmented";
import { Switch } from "@/components/ui/switch";
import { useHost } from "@/host";
import { usePreferences } from "@/host/preferences";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { baseUrl, dialects } from "@/lib/addresses";
import { errorWords } from "@/lib/error-words";

export function GeneralScreen() {
  const messages = useMessages();
  return (
    <Screen title={messages.settings.general.title}>
      <div className="max-w-[760px]">
        <Appearance />
        <WindowSettings />
        <Gateway />
        <Addresses />
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
    onError: (error) => notify.failed(error.message),
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

/** Which of the gateway's settings live here, in this order. */
const fields = ["gateway.port", "gateway.requireApiKey"];

function Gateway() {
  const messages = useMessages();
  const settings = useRead("settings_fields", null);
  const update = useChange("settings_update");
  const [changing, setChanging] = useState<string | null>(null);

  const save = (field: SettingFieldView, value: JsonValue) => {
    const [section = "", key = ""] = field.path.split(".");
    setChanging(field.path);
    update.mutate(
      { [section]: { [key]: value } },
      {
        onSuccess: () => {
          if (field.path === "gateway.port")
            notify.done(messages.settings.general.portMoved(Number(value ?? field.default)));
        },
      },
    );
  };
  const refused = (path: string) => {
    if (!update.error || path !== changing) return undefined;
    if (path === "gateway.port" && update.error.code === "conflict") return messages.settings.portInUse;
    return update.error.field(path) ?? errorWords(update.error, messages).title;
  };

  return (
    <Section title={messages.settings.general.gateway}>
      {settings.isPending && <SkeletonRows rows={2} height={56} />}
      {settings.error && <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />}
      {fields
        .map((path) => settings.data?.fields.find((field) => field.path === path))
        .filter((field) => field !== undefined)
        .map((field) => (
          <SettingField
            key={field.path}
            field={field}
            saving={update.isPending}
            error={refused(field.path)}
            onSave={(value) => save(field, value)}
          />
        ))}
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
