/** On which screen a setting is. What stands on none has no place, and is not offered. */
import { FOR_ALL, isComboSetting } from "./combo-settings";
import { settingKey } from "./setting-key";
import { trafficSectionOf } from "./traffic-settings";

export type SettingPlace =
  | "/combos/defaults"
  | "/settings/general"
  | "/settings/traffic"
  | "/settings/resilience"
  | "/settings/lockout"
  | "/settings/rules"
  | "/settings/flags"
  | "/settings/names"
  | "/settings/security";

const groups: Readonly<Record<string, SettingPlace>> = {
  modelLockout: "/settings/lockout",
  connectionCooldown: "/settings/resilience",
  providerBreaker: "/settings/resilience",
  providerCooldown: "/settings/resilience",
  waitForCooldown: "/settings/resilience",
  sessionAffinityTtlMs: "/settings/resilience",
  comboCooldownWait: "/settings/resilience",
  requestQueue: "/settings/resilience",
  quotaShareConcurrencyLimit: "/settings/resilience",
  quotaPreflight: "/settings/resilience",
  quota: "/settings/resilience",
  credentialHealthCheck: "/settings/resilience",
  streamStallCooldown: "/settings/resilience",
  customBannedSignals: "/settings/resilience",
  autoDisableBannedAccounts: "/settings/resilience",
};

const single: Readonly<Record<string, SettingPlace>> = {
  "gateway.port": "/settings/general",
  "logging.retentionDays": "/settings/general",
  "logging.detailed": "/settings/general",
  "logging.bodyRetentionDays": "/settings/general",
  "logging.usageRetentionDays": "/settings/general",
  "gateway.requireApiKey": "/settings/security",
  "gateway.bindAddress": "/settings/security",
  "gateway.allowedHosts": "/settings/security",
  "gateway.corsOrigins": "/settings/security",
  providerErrorRules: "/settings/rules",
  "routing.defaultModel": "/settings/names",
  "routing.providerOrder": "/settings/names",
  "routing.modelPrefixMode": "/settings/names",
  "routing.protectedPriorityInfra502": "/settings/flags",
  "network.allowPrivateProviderUrls": "/settings/flags",
};

const beginnings: readonly (readonly [string, SettingPlace])[] = [
  ["streamRecovery.throughputWatchdog.", "/settings/resilience"],
  ["routing.emergencyFallback.", "/settings/flags"],
];

export function settingPlace(path: string): SettingPlace | undefined {
  if (trafficSectionOf(path)) return "/settings/traffic";
  if (path.startsWith(FOR_ALL)) return isComboSetting(path.slice(FOR_ALL.length)) ? "/combos/defaults" : undefined;
  const key = settingKey(path);
  const [, place] = beginnings.find(([beginning]) => key.startsWith(beginning)) ?? [];
  return place ?? single[key] ?? groups[key.split(".")[0] ?? ""];
}
