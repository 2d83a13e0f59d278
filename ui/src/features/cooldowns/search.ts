/** The filters of the cooldown manager, as they stand in its address. */
import type { CooldownStatus } from "@/bindings";

export type StatusFilter = "out" | CooldownStatus;
/** Without a status: whatever is out of rotation. */
export type CooldownSearch = { status?: CooldownStatus; provider?: string };

export const statusFilters: readonly StatusFilter[] = [
  "out",
  "cooling_down",
  "model_locked",
  "terminal",
  "unavailable",
  "healthy",
];

export function readCooldownSearch(search: Record<string, unknown>): CooldownSearch {
  const status = statusFilters.find((known) => known === search.status);
  return {
    ...(status && status !== "out" && { status }),
    ...(typeof search.provider === "string" && search.provider && { provider: search.provider }),
  };
}
