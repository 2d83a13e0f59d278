import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Combo, Combos } from "@/bindings";
import { useReportError } from "@/components/notify";
import { readKey, useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { movedAmong } from "@/lib/combo-draft";

/** The order as seen: moved at once, put back when the gateway refuses. */
export function useComboOrder(all: readonly Combo[], shown: readonly Combo[]) {
  const words = useMessages().combos;
  const client = useQueryClient();
  const report = useReportError();
  const save = useChange("combos_reorder");
  const [announcement, setAnnouncement] = useState("");

  const move = (from: number, to: number) => {
    const combos = movedAmong(all, shown, from, to);
    const key = readKey("combos_list", { includeHidden: true });
    client.setQueryData<Combos>(key, { combos });
    setAnnouncement(words.moved(shown[from]?.name ?? "", to + 1, shown.length));
    save.mutate(
      { ids: combos.map(({ id }) => id) },
      {
        onError: (error) => {
          report(error);
          void client.invalidateQueries({ queryKey: key });
        },
      },
    );
  };
  return { move, announcement };
}
