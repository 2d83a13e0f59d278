/** Some of the gateway's settings, in the order given. Each is saved by itself and shows its own refusal. */
import { useState } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { useChange, useRead } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { errorWords } from "@/lib/error-words";
import { SettingField } from "./SettingField";
import { ErrorState, SkeletonRows } from "./States";

type SettingFieldsProps = {
  paths: readonly string[];
  /** What a conflict means, by path. */
  refusals?: Readonly<Record<string, string>>;
  onSaved?(field: Field, value: JsonValue): void;
};

export function SettingFields({ paths, refusals = {}, onSaved }: SettingFieldsProps) {
  const messages = useMessages();
  const settings = useRead("settings_fields", null);
  const update = useChange("settings_update");
  const [changing, setChanging] = useState<string | null>(null);

  const save = (field: Field, value: JsonValue) => {
    setChanging(field.path);
    update.mutate(atPath(field.path, value), { onSuccess: () => onSaved?.(field, value) });
  };
  const refused = (path: string) => {
    const { error } = update;
    if (!error || path !== changing) return undefined;
    if (error.code === "conflict" && path in refusals) return refusals[path];
    const said = error.field(path);
    return said === undefined ? errorWords(error, messages).title : (problemWords(path, messages) ?? said);
  };

  if (settings.isPending) return <SkeletonRows rows={paths.length} height={56} />;
  if (settings.error) return <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />;
  return paths
    .map((path) => settings.data.fields.find((field) => field.path === path))
    .filter((field) => field !== undefined)
    .map((field) => (
      <SettingField
        key={field.path}
        field={field}
        saving={update.isPending}
        error={refused(field.path)}
        onSave={(value) => save(field, value)}
      />
    ));
}

/** `gateway.port` and 1 become `{gateway: {port: 1}}`. */
function atPath(path: string, value: JsonValue): { [key: string]: JsonValue } {
  const names = path.split(".");
  return names.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value) as { [key: string]: JsonValue };
}

function problemWords(path: string, messages: Messages): string | undefined {
  const { fieldProblems } = messages.settings;
  return path in fieldProblems ? fieldProblems[path as keyof typeof fieldProblems] : undefined;
}
