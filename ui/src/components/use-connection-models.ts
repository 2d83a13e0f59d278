import type { ConnectionModel } from "@/bindings";
import { useRead } from "@/host/queries";

/** The models of a connection. A provider that was never asked for its list is asked now, once. */
export function useConnectionModels(id: string): { models: readonly ConnectionModel[]; isPending: boolean } {
  const known = useRead("connection_models", { id });
  const neverAsked = known.data?.fetchedAt === null;
  const asked = useRead("connection_models", { id, refresh: true }, { enabled: neverAsked });
  const data = neverAsked ? (asked.data ?? known.data) : known.data;
  return { models: data?.models ?? [], isPending: known.isPending || (neverAsked && asked.isPending) };
}
