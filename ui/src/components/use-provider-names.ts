import { useCallback, useMemo } from "react";
import { useRead } from "@/host/queries";

/** A provider's name by its id; the id itself where the catalogue does not know it. */
export function useProviderNames(): (provider: string) => string {
  const catalog = useRead("catalog_providers", null);
  const names = useMemo(() => new Map(catalog.data?.providers.map(({ id, name }) => [id, name])), [catalog.data]);
  return useCallback((provider) => names.get(provider) ?? provider, [names]);
}
