/** Every setting as the gateway declares it. The browser's checks compare the list with a running gateway. */
import type { SettingField } from "@/bindings";
import declared from "./gateway-fields.jsonl?raw";

type Declared = Omit<SettingField, "help" | "environment" | "value" | "source">;

export const gatewayFields: readonly SettingField[] = declared
  .trim()
  .split("\n")
  .map((line) => {
    const field: Declared = JSON.parse(line);
    return { ...field, help: "", environment: null, value: field.default, source: "default" };
  });
