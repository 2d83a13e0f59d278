/** What is known of an account's quota: how it stands, and its windows as time goes on. Unknown is never zero. */
import type { QuotaConnection, QuotaWindow } from "@/bindings";

export type Standing = "usedUp" | "low" | "enough" | "unknown";

export type ShownWindow = {
  readonly name: string;
  /** Counted for one model alone, whose name it bears. */
  readonly ofModel: boolean;
  /** A fraction, 0 to 1; `null` when nobody said. */
  readonly used: number | null;
  readonly resetAt: string | null;
};

/** The gateway's word where a provider could be asked and was not. It tells nothing that the screen does not say. */
const NOT_ASKED = "nobody has asked its vendor yet";

/** Short windows first; what the provider calls otherwise stands last. */
const order = ["session", "daily", "weekly", "7d:", "monthly"];

/** With time applied: a window whose reset has passed is full again. */
export function windowsOf(account: QuotaConnection, now: number): readonly ShownWindow[] {
  const shown = (ofModel: boolean) => {
    return ([name, { percentUsed, resetAt }]: [string, QuotaWindow]): ShownWindow => {
      const isOver = resetAt !== null && Date.parse(resetAt) <= now;
      return { name, ofModel, used: isOver ? 0 : percentUsed, resetAt: isOver ? null : resetAt };
    };
  };
  const windows = Object.entries(account.windows).map(shown(false));
  const models = Object.entries(account.models).map(shown(true));
  return [
    ...windows.sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name)),
    ...models.sort((a, b) => a.name.localeCompare(b.name)),
  ];
}

function rank(name: string): number {
  const place = order.indexOf(name.startsWith("7d:") ? "7d:" : name);
  return place < 0 ? order.length : place;
}

/** How one window stands; it is low from where no more than `warnPercent` of it is left. */
export function windowStanding(used: number | null, warnPercent: number): Standing {
  if (used === null) return "unknown";
  if (used >= 1) return "usedUp";
  return (1 - used) * 100 <= warnPercent ? "low" : "enough";
}

/** The worst of what is known decides. A model that is used up leaves the others of the account. */
export function standingOf(account: QuotaConnection, warnPercent: number, now: number): Standing {
  const windows = windowsOf(account, now);
  const isRefused = account.limitReached && !windows.every(({ used }) => used === 0);
  const standings = [
    ...windows.map(({ used, ofModel }) => {
      const standing = windowStanding(used, warnPercent);
      return ofModel && standing === "usedUp" ? "low" : standing;
    }),
    ...account.balances.map(({ remaining }) => (remaining === null ? "unknown" : remaining > 0 ? "enough" : "usedUp")),
  ];
  if (isRefused || standings.includes("usedUp")) return "usedUp";
  if (standings.includes("low")) return "low";
  return standings.includes("enough") ? "enough" : "unknown";
}

/** Why asking was in vain, in the gateway's words; nothing where it only says that nothing is known. */
export function problemOf({ canRefresh, message }: QuotaConnection): string | null {
  return canRefresh && message !== NOT_ASKED ? message : null;
}

/** What an account has to show: `silent` when nobody could be asked of it, `unasked` when nobody was. */
export type Voice = "telling" | "silent" | "unasked";

export function voiceOf(account: QuotaConnection, now: number): Voice {
  if (windowsOf(account, now).length > 0 || account.balances.length > 0) return "telling";
  if (!account.canRefresh) return "silent";
  return problemOf(account) === null ? "unasked" : "telling";
}
