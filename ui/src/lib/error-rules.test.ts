import { describe, expect, it } from "vitest";
import { HostError } from "@/host/host";
import { connection, request } from "@/test/world";
import {
  draftOf,
  draftProblems,
  type ErrorRule,
  fits,
  readRules,
  recentErrors,
  refusedFields,
  ruleCount,
  ruleKeys,
  ruleOf,
  scopeInEffect,
  withoutRule,
  withRule,
  withRuleChanged,
  withRuleMoved,
} from "./error-rules";

const cap: ErrorRule = { status: 429, match: "daily cap", scope: "connection" };
const full: ErrorRule = { status: 503, match: "full", scope: "model", reason: "model_capacity", cooldownMs: 90_000 };

describe("a rule as it is typed", () => {
  it("is read as it was written", () => {
    expect(ruleOf(draftOf("ak", full))).toEqual(full);
    expect(ruleOf(draftOf("ak", cap))).toEqual({ ...cap, reason: "quota_exhausted" });
    expect(draftOf("ak", { ...cap, cooldownMs: 21_600_000 }).rest).toBe("6 h");
  });

  it("keeps to the bounds of the gateway", () => {
    const draft = draftOf("ak", cap);
    for (const [part, problem] of [
      [{ status: "99" }, "status"],
      [{ status: "600" }, "status"],
      [{ status: "4e2" }, "status"],
      [{ match: "  " }, "match"],
      [{ rest: "soon" }, "cooldownMs"],
      [{ rest: "721 h" }, "cooldownMs"],
    ] as const) {
      expect([...draftProblems({ ...draft, ...part })]).toEqual([problem]);
      expect(ruleOf({ ...draft, ...part })).toBeNull();
    }
    for (const part of [{ status: "100" }, { status: "599" }, { rest: "720 h" }, { rest: "0" }, { rest: "5" }]) {
      expect(draftProblems({ ...draft, ...part }).size).toBe(0);
      expect(ruleOf({ ...draft, ...part })).not.toBeNull();
    }
  });

  it("is not complete, and not wrong either, while something is empty", () => {
    expect(draftProblems(draftOf("")).size).toBe(0);
    expect(ruleOf(draftOf(""))).toBeNull();
  });

  it("names no account for a refusal", () => {
    expect(scopeInEffect({ scope: "connection", reason: "forbidden" })).toBe("provider");
    expect(scopeInEffect({ scope: "model", reason: "forbidden" })).toBe("model");
    expect(scopeInEffect(cap)).toBe("connection");
  });
});

describe("the table of rules", () => {
  it("leaves no provider without a rule", () => {
    expect(readRules({ ak: [], router: [{ ...cap }] })).toEqual({ router: [cap] });
    expect(withoutRule({ ak: [cap], router: [full] }, { provider: "ak", index: 0 })).toEqual({ router: [full] });
    expect(ruleCount({ ak: [cap, full], router: [cap] })).toBe(3);
  });

  it("puts a rule at the end, back where it was, and elsewhere", () => {
    const table = withRule({ ak: [cap] }, full, { provider: "ak" });
    expect(table).toEqual({ ak: [cap, full] });
    expect(withRule(withoutRule(table, { provider: "ak", index: 0 }), cap, { provider: "ak", index: 0 })).toEqual(
      table,
    );
    expect(withRuleMoved(table, "ak", 0, 1)).toEqual({ ak: [full, cap] });
  });

  it("keeps the place of a rule that is changed, unless it goes to another provider", () => {
    const place = { provider: "ak", index: 0 };
    const other = { ...cap, status: 400 };
    expect(withRuleChanged({ ak: [cap, full] }, place, "ak", other)).toEqual({ ak: [other, full] });
    expect(withRuleChanged({ ak: [cap], router: [full] }, place, "router", other)).toEqual({ router: [full, other] });
  });

  it("names rules so that each keeps its name in another order", () => {
    const before = ruleKeys([cap, full, cap]);
    expect(new Set(before).size).toBe(3);
    expect(ruleKeys([full, cap, cap])[0]).toBe(before[1]);
  });
});

describe("what the gateway refuses", () => {
  it("is found by the place of the rule, whether the problem is filed under it or under the setting", () => {
    const place = "providerErrorRules.ak[1]";
    const told = (field: string, message: string) =>
      new HostError({ code: "invalid_request", message: "", details: [{ field, message, code: null, values: [] }] });
    const together = told("providerErrorRules", `${place}.status: a status; ${place}.match: the text`);
    expect([...refusedFields(together, { provider: "ak", index: 1 })]).toEqual(["status", "match"]);
    expect(refusedFields(together, { provider: "ak", index: 0 }).size).toBe(0);
    const single = told(`${place}.cooldownMs`, "at most 2592000000");
    expect([...refusedFields(single, { provider: "ak", index: 1 })]).toEqual(["cooldownMs"]);
    expect(refusedFields(null, { provider: "ak", index: 1 }).size).toBe(0);
  });
});

describe("the last errors of a provider", () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const failing = connection("c1", { errorCode: 429, lastError: "Daily CAP reached", lastErrorAt: at(2) });
  const failed = request("r1", { status: 400, attempts: 1, errorSummary: "makes no sense", timestamp: at(3) });

  it("are those of connections and of requests that asked once, each once, the latest first", () => {
    const again = { ...failed, id: "r2", timestamp: at(4) };
    const together = { ...failed, id: "r3", attempts: 2, errorSummary: "nobody answered" };
    const errors = recentErrors([failing, connection("c2")], [failed, again, together, request("r4")]);
    expect(errors.map(({ status, at: when }) => [status, when])).toEqual([
      [400, at(4)],
      [429, at(2)],
    ]);
  });

  it("fit a rule of their status whose text they hold, in any case", () => {
    const [error] = recentErrors([failing], []);
    if (!error) throw new Error("an error is on record");
    expect(fits({ status: "429", match: " daily cap " }, error)).toBe(true);
    expect(fits({ status: "400", match: "daily cap" }, error)).toBe(false);
    expect(fits({ status: "429", match: "monthly" }, error)).toBe(false);
    expect(fits({ status: "429", match: " " }, error)).toBe(false);
  });
});
