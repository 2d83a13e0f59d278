/** What a setting is called in the dictionary and on screens: its path without its section and its class of provider. */
import type { SettingField } from "@/bindings";

export const settingClasses = ["oauth", "apikey", "local"] as const;
export type SettingClass = (typeof settingClasses)[number];

/** `resilienceSettings.providerBreaker.oauth.resetTimeoutMs` is `providerBreaker.resetTimeoutMs`. */
export function settingKey(path: string): string {
  return path.replace(/^resilience(Settings)?\./, "").replace(/\.(oauth|apikey|local)\./, ".");
}

export function settingClass(path: string): SettingClass | undefined {
  return settingClasses.find((name) => path.includes(`.${name}.`));
}

/** The settings of a group, in the order in which the gateway declares them. */
export function settingsUnder(fields: readonly SettingField[], group: string): SettingField[] {
  return fields.filter(({ path }) => settingKey(path).startsWith(`${group}.`));
}
