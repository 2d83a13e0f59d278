/** On which screen a setting is. What stands on none has no place, and is not offered. */
import { settingKey } from "./setting-key";

export type SettingPlace =
  | "/settings/general"
  | "/settings/resilience"
  | "/settings/lockout"
  | "/settings/rules"
  | "/settings/security";

const groups: Readonly<Record<string, SettingPlace>> = {
  modelLockout: "/settings/lockout",
  connectionCooldown: "/settings/resilience",
  providerBreaker: "/settings/resilience",
  providerCooldown: "/settings/resilience",
  waitForCooldown: "/settings/resilience",
  comboCooldownWait: "/settings/resilience",
  requestQueue: "/settings/resilience",
  quotaShareConcurrencyLimit: "/settings/resilience",
  quotaPreflight: "/settings/resilience",
  streamStallCooldown: "/settings/resilience",
};

const single: Readonly<Record<string, SettingPlace>> = {
  "gateway.port": "/settings/general",
  "gateway.requireApiKey": "/settings/security",
  "gateway.bindAddress": "/settings/security",
  "gateway.allowedHosts": "/settings/security",
  "gateway.corsOrigins": "/settings/security",
  providerErrorRules: "/settings/rules",
};

export function settingPlace(path: string): SettingPlace | undefined {
  const key = settingKey(path);
  return single[key] ?? groups[key.split(".")[0] ?? ""];
}
