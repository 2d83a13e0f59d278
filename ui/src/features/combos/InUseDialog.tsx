import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Combo } from "@/bindings";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import type { InUse } from "./use-combo-actions";

/** Why a combo was not deleted: who leads to it, and the way there. */
export function InUseDialog({ inUse, onClose }: { inUse: InUse | null; onClose(): void }) {
  const messages = useMessages();
  const words = messages.combos;
  return (
    <Dialog
      open={inUse !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={words.inUseTitle(inUse?.combo.name ?? "")}
      description={words.inUseHelp}
      footer={<Button onClick={onClose}>{messages.common.close}</Button>}
    >
      {inUse && <Users {...inUse} onLeave={onClose} />}
    </Dialog>
  );
}

function Users({ combo, message, onLeave }: InUse & { onLeave(): void }) {
  const words = useMessages().combos.inUseBy;
  const combos = useRead("combos_list", { includeHidden: true }).data?.combos ?? [];
  const mappings = useRead("combo_mappings_list", null).data?.mappings ?? [];
  const aliases = useRead("aliases_list", null).data?.aliases ?? [];
  const look = "min-w-0 truncate font-mono hover:underline";
  const users: { key: string; kind: string; link: ReactNode }[] = [
    ...combos.filter(leadsTo(combo)).map(({ id, name }) => ({
      key: id,
      kind: words.combo,
      link: (
        <Link to="/combos/$comboId" params={{ comboId: id }} onClick={onLeave} title={name} className={look}>
          {name}
        </Link>
      ),
    })),
    ...mappings
      .filter(({ comboId }) => comboId === combo.id)
      .map(({ id, pattern }) => ({
        key: id,
        kind: words.pattern,
        link: (
          <Link to="/combos/$comboId" params={{ comboId: combo.id }} onClick={onLeave} title={pattern} className={look}>
            {pattern}
          </Link>
        ),
      })),
    ...aliases
      .filter(({ target }) => target === combo.name)
      .map(({ id, alias }) => ({
        key: id,
        kind: words.name,
        link: (
          <Link to="/settings/names/$nameId" params={{ nameId: id }} onClick={onLeave} title={alias} className={look}>
            {alias}
          </Link>
        ),
      })),
  ];
  // Whoever else it may be: the gateway knows, in its own words.
  if (users.length === 0) return <p className="select-text break-words font-mono text-ink-faint text-xs">{message}</p>;
  return (
    <ul className="border-t">
      {users.map(({ key, kind, link }) => (
        <li key={key} className="flex min-h-10 items-center gap-3 border-b last:border-b-0">
          {link}
          <span className="ml-auto shrink-0 text-ink-faint">{kind}</span>
        </li>
      ))}
    </ul>
  );
}

function leadsTo(combo: Combo) {
  return ({ id, models }: Combo) =>
    id !== combo.id && models.some((step) => step.kind === "combo-ref" && step.comboName === combo.name);
}
