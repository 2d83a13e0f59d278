/** What is simulated, as it stands in the screen's address. */

export const modes = ["selections", "replay"] as const;
export type Mode = (typeof modes)[number];
export type SimulateSearch = { mode?: Mode; name?: string };

/** Whatever an address holds, only what can be meant is kept. */
export function readSimulateSearch(search: Record<string, unknown>): SimulateSearch {
  const mode = modes.find((known) => known === search.mode);
  return {
    ...(mode && { mode }),
    ...((typeof search.name === "string" || typeof search.name === "number") &&
      search.name !== "" && { name: String(search.name) }),
  };
}
