/** The gateway's settings as a screen edits them: one change at a time, each with its own refusal. */
import { useState } from "react";
import type { SettingField as Field, Value as JsonValue } from "@/bindings";
import { useChange, useRead } from "@/host/queries";
import { type Messages, useMessages } from "@/i18n";
import { errorWords } from "@/lib/error-words";
import { settingKey } from "@/lib/setting-key";

type Options = {
  /** What a conflict means, by path. */
  refusals?: Readonly<Record<string, string>>;
  onSaved?: ((field: Field, value: JsonValue) => void) | undefined;
};

export function useSettings({ refusals = {}, onSaved }: Options = {}) {
  const messages = useMessages();
  const read = useRead("settings_fields", null);
  const update = useChange("settings_update");
  const [changing, setChanging] = useState<string | null>(null);

  return {
    read,
    saving: update.isPending,

    save(field: Field, value: JsonValue): void {
      setChanging(field.path);
      update.mutate(atPath(field.path, value), { onSuccess: () => onSaved?.(field, value) });
    },

    /** Why the last change was refused, beside the field it was made in and beside every other that the gateway names. */
    refused(path: string): string | undefined {
      const { error } = update;
      if (!error || changing === null) return undefined;
      const said = error.field(path);
      if (said !== undefined) return problemWords(path, messages) ?? said;
      if (path !== changing) return undefined;
      if (error.code === "conflict" && path in refusals) return refusals[path];
      return errorWords(error, messages).title;
    },
  };
}

/** `gateway.port` and 1 become `{gateway: {port: 1}}`. */
function atPath(path: string, value: JsonValue): { [key: string]: JsonValue } {
  const names = path.split(".");
  return names.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), value) as { [key: string]: JsonValue };
}

function problemWords(path: string, messages: Messages): string | undefined {
  const problems: Record<string, string> = {
    ...messages.settings.fieldProblems,
    ...messages.traffic.fieldProblems,
    ...messages.resilience.fieldProblems,
    ...messages.limits.fieldProblems,
  };
  return problems[path] ?? problems[settingKey(path)];
}
