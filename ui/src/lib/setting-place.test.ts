import { describe, expect, it } from "vitest";
import { settingPlace } from "./setting-place";

describe("the place of a setting", () => {
  it("is the screen that draws it, whatever class of provider it is for", () => {
    expect(settingPlace("resilienceSettings.providerBreaker.oauth.resetTimeoutMs")).toBe("/settings/resilience");
    expect(settingPlace("modelLockout.enabled")).toBe("/settings/lockout");
    expect(settingPlace("gateway.bindAddress")).toBe("/settings/security");
    expect(settingPlace("providerErrorRules")).toBe("/settings/rules");
    expect(settingPlace("gateway.keepAliveAfterMs.chat")).toBe("/settings/traffic");
  });

  it("is unknown where no screen draws it", () => {
    expect(settingPlace("streamRecovery.enabled")).toBeUndefined();
  });
});
