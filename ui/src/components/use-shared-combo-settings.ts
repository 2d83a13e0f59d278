/** Settings of several combos at once, as a screen edits them: each change is saved at once. */
import { useState } from "react";
import type { SettingField, Value } from "@/bindings";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { type ComboConfig, patchOf } from "@/lib/combo-draft";
import { valueAt } from "@/lib/combo-settings";
import { errorWords } from "@/lib/error-words";

export type SharedComboSettings = ReturnType<typeof useSharedComboSettings>;

/** Where among the gateway's settings they are kept. */
type Keeping = {
  /** Before a setting's name, in the path by which the gateway refuses it. */
  prefix: string;
  /** What was chosen there. */
  chosen(fields: readonly SettingField[]): ComboConfig;
  /** The part of the settings that keeps `next`. */
  change(fields: readonly SettingField[], next: ComboConfig): { [section: string]: Value };
};

export function useSharedComboSettings({ prefix, chosen, change }: Keeping) {
  const messages = useMessages();
  const read = useRead("settings_fields", null);
  const update = useChange("settings_update");
  /** The latest change, saved or refused. */
  const [patch, setPatch] = useState<ComboConfig>({});
  const fields = read.data?.fields ?? [];
  const config = chosen(fields);

  return {
    read,
    config,

    onChange(next: ComboConfig): void {
      setPatch(patchOf(config, next));
      update.mutate(change(fields, next));
    },

    /** Why the latest change was refused, beside the setting it was made in. */
    problem(field: string): string | undefined {
      const name = field.replace(/^config\./, "");
      if (!update.error) return undefined;
      const said = update.error.field(`${prefix}${name}`);
      if (said !== undefined) return said;
      return valueAt(patch, name) === undefined ? undefined : errorWords(update.error, messages).title;
    },
  };
}
