/** What holds for all combos, as its screen edits it: each change is saved at once. */
import { useState } from "react";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import type { ComboConfig } from "@/lib/combo-draft";
import { changeForAll, chosenForAll, FOR_ALL, valueAt } from "@/lib/combo-settings";
import { errorWords } from "@/lib/error-words";

export function useComboDefaults() {
  const messages = useMessages();
  const read = useRead("settings_fields", null);
  const update = useChange("settings_update");
  /** The latest change, saved or refused. */
  const [patch, setPatch] = useState<ComboConfig>({});
  const config = chosenForAll(read.data?.fields ?? []);

  return {
    read,
    config,

    onChange(next: ComboConfig): void {
      const change = changeForAll(config, next);
      setPatch(change);
      update.mutate({ comboDefaults: change });
    },

    /** Why the latest change was refused, beside the setting it was made in. */
    problem(field: string): string | undefined {
      const name = field.replace(/^config\./, "");
      if (!update.error) return undefined;
      const said = update.error.field(`${FOR_ALL}${name}`);
      if (said !== undefined) return said;
      return valueAt(patch, name) === undefined ? undefined : errorWords(update.error, messages).title;
    },
  };
}
