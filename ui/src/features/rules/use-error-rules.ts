/** The rules as a screen reads and changes them. They are one setting, so that each change writes all of them. */
import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { SettingFields, Value } from "@/bindings";
import { readKey, useChange, useRead } from "@/host/queries";
import { type RuleTable, readRules, ruleCount, rulesPath, writeRules } from "@/lib/error-rules";
import { settingKey } from "@/lib/setting-key";

const fieldsKey = readKey("settings_fields", null);
const isRules = ({ path }: { path: string }) => path === rulesPath;

export function useErrorRules() {
  const client = useQueryClient();
  const read = useRead("settings_fields", null);
  const update = useChange("settings_update");
  const fields = read.data?.fields ?? [];
  const field = fields.find(isRules);
  const ceiling = fields.find(({ path }) => settingKey(path) === "modelLockout.maxCooldownMs")?.value;
  const value = field?.value;
  const table = useMemo(() => readRules(value), [value]);

  const latest = () => client.getQueryData<SettingFields>(fieldsKey)?.fields.find(isRules);
  const write = (value: Value) => update.mutateAsync({ [rulesPath]: value });

  return {
    read,
    field,
    table,
    /** Longest rest that no provider announced, in milliseconds. */
    ceiling: typeof ceiling === "number" ? ceiling : null,
    saving: update.isPending,
    refusal: update.error,

    /** Edits what holds at this moment, which may be more than the screen showed when somebody began. */
    change(edit: (table: RuleTable) => RuleTable) {
      const now = latest();
      return write(toValue(edit(readRules(now?.value)), now?.environment ?? null));
    },

    /** Back to what environment or default say. */
    reset: () => write(null),

    /** Shows at once what is being saved; put right by what the gateway says then. */
    foresee(edit: (table: RuleTable) => RuleTable): void {
      client.setQueryData<SettingFields>(
        fieldsKey,
        (before) =>
          before && {
            fields: before.fields.map((f) => (isRules(f) ? { ...f, value: writeRules(edit(readRules(f.value))) } : f)),
          },
      );
    },

    /** Reads again what the gateway has. */
    recall: () => void client.invalidateQueries({ queryKey: fieldsKey }),
  };
}

/** No rules are the default, unless the environment brings some that shall not hold. */
function toValue(table: RuleTable, environment: Value | null): Value {
  return ruleCount(table) === 0 && environment === null ? null : writeRules(table);
}
