/** What can be done with a whole combo, from its list and from its editor. */
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Combo } from "@/bindings";
import { notify, useReportError } from "@/components/notify";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { copyName, toDraft } from "@/lib/combo-draft";

/** A combo that something else leads to, and what the gateway says about that. */
export type InUse = { readonly combo: Combo; readonly message: string };

export function useComboActions() {
  const messages = useMessages();
  const words = messages.combos;
  const navigate = useNavigate();
  const report = useReportError();
  const all = useRead("combos_list", { includeHidden: true });
  const duplicate = useChange("combo_duplicate");
  const remove = useChange("combo_delete");
  const create = useChange("combo_create");
  const reorder = useChange("combos_reorder");
  const [inUse, setInUse] = useState<InUse | null>(null);
  const combos = all.data?.combos ?? [];

  const restore = async (combo: Combo) => {
    const made = (await create.mutateAsync(toDraft(combo))).combo;
    await reorder.mutateAsync({ ids: combos.map(({ id }) => (id === combo.id ? made.id : id)) });
    notify.done(words.restored(combo.name));
  };

  return {
    inUse,
    dismissInUse: () => setInUse(null),

    duplicate: (combo: Combo) =>
      void duplicate
        .mutateAsync({
          id: combo.id,
          name: copyName(
            combo.name,
            combos.map(({ name }) => name),
          ),
        })
        .then(({ combo: { id, name } }) => {
          notify.done(words.duplicated(name));
          return navigate({ to: "/combos/$comboId", params: { comboId: id } });
        }, report),

    /** Deletes at once, with a way back; `gone` is called when it is. */
    remove: (combo: Combo, gone?: () => void) =>
      void remove.mutateAsync({ id: combo.id }).then(
        () => {
          gone?.();
          notify.undoable(words.deleted(combo.name), {
            label: messages.common.undo,
            act: () => void restore(combo).catch(report),
          });
        },
        (error) => {
          if (error.code === "conflict") setInUse({ combo, message: error.message });
          else report(error);
        },
      ),
  };
}
