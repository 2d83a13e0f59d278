import { useMemo } from "react";
import { useRead } from "@/host/queries";
import type { Names } from "@/lib/combo-draft";

/** What can be asked for by name: combos, models, and the person's own names; and how providers are written. */
export function useNames(): Names & { readonly models: readonly string[]; readonly aliases: readonly string[] } {
  const combos = useRead("combos_list", { includeHidden: true });
  const models = useRead("models_list", {});
  const aliases = useRead("aliases_list", null);
  const catalog = useRead("catalog_providers", null);
  return useMemo(() => {
    const ids = new Map(catalog.data?.providers.map(({ id, alias }) => [alias, id]));
    return {
      combos: combos.data?.combos.map(({ name }) => name) ?? [],
      models: models.data?.models.map(({ qualified }) => qualified) ?? [],
      aliases: aliases.data?.aliases.map(({ alias }) => alias) ?? [],
      providerId: (written) => ids.get(written) ?? written,
    };
  }, [combos.data, models.data, aliases.data, catalog.data]);
}
