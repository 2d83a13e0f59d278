import { Outlet, useNavigate } from "@tanstack/react-router";
import { ArrowDownToLine, ArrowUpFromLine, Dices, Ellipsis, SlidersHorizontal } from "lucide-react";
import { useMemo, useState } from "react";
import type { Combo } from "@/bindings";
import { Announcement, DataTable } from "@/components/DataTable";
import { ListScreen } from "@/components/ListScreen";
import { Button, IconButton } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { targetOf } from "@/lib/combo-draft";
import { useComboColumns } from "./columns";
import { InUseDialog } from "./InUseDialog";
import { useComboActions } from "./use-combo-actions";
import { useComboOrder } from "./use-combo-order";
import { useComboSwitch } from "./use-combo-switch";

const nothing: readonly Combo[] = [];
const idOf = ({ id }: Combo) => id;

/** Every combo, in the person's own order. */
export function CombosScreen() {
  const messages = useMessages();
  const words = messages.combos;
  const navigate = useNavigate();
  const read = useRead("combos_list", { includeHidden: true });
  const [filter, setFilter] = useState("");
  const [showHidden, setShowHidden] = useState(false);
  const actions = useComboActions();
  const columns = useComboColumns(actions);
  const switches = useComboSwitch();

  const all = read.data?.combos ?? nothing;
  const hidden = all.filter(({ isHidden }) => isHidden).length;
  const wanted = filter.trim().toLowerCase();
  const shown = useMemo(() => {
    const inSight = all.filter(({ isHidden }) => showHidden || !isHidden);
    return inSight.filter(({ name, models }) =>
      [name, ...models.map(targetOf)].some((text) => text.toLowerCase().includes(wanted)),
    );
  }, [all, showHidden, wanted]);
  const order = useComboOrder(all, shown);

  const importButton = (
    <Button onClick={() => void navigate({ to: "/combos/import" })}>
      <ArrowDownToLine aria-hidden />
      {words.import}
    </Button>
  );

  return (
    <>
      <ListScreen
        title={words.title}
        help={words.help}
        read={read}
        count={read.data?.combos.length}
        found={shown.length}
        filter={{ label: words.filter, value: filter, onChange: setFilter }}
        add={{ label: words.add, run: () => void navigate({ to: "/combos/new" }) }}
        empty={{ title: words.emptyTitle, help: words.emptyHelp, action: importButton }}
        before={
          hidden > 0 && (
            <Button variant="ghost" aria-pressed={showHidden} onClick={() => setShowHidden(!showHidden)}>
              <span className={showHidden ? "text-accent-text" : undefined}>{words.showHidden(hidden)}</span>
            </Button>
          )
        }
        actions={
          <Menu
            trigger={
              <IconButton label={words.moreActions}>
                <Ellipsis aria-hidden />
              </IconButton>
            }
          >
            <MenuItem onSelect={() => void navigate({ to: "/combos/import" })}>
              <ArrowDownToLine aria-hidden />
              {words.import}
            </MenuItem>
            <MenuItem onSelect={() => void navigate({ to: "/combos/export" })}>
              <ArrowUpFromLine aria-hidden />
              {words.export}
            </MenuItem>
            <MenuItem onSelect={() => void navigate({ to: "/combos/defaults" })}>
              <SlidersHorizontal aria-hidden />
              {words.defaults.menu}
            </MenuItem>
            <MenuItem onSelect={() => void navigate({ to: "/monitoring/simulate" })}>
              <Dices aria-hidden />
              {words.simulate}
            </MenuItem>
          </Menu>
        }
      >
        {shown.length > 0 && (
          <DataTable
            label={words.title}
            rows={shown}
            columns={columns}
            rowKey={idOf}
            faded={({ isActive }) => !isActive}
            onOpen={({ id }) => void navigate({ to: "/combos/$comboId", params: { comboId: id } })}
            onToggle={(combo) => switches.set(combo, !combo.isActive)}
            reorder={
              wanted === "" && shown.length > 1
                ? {
                    label: ({ name }, position) => words.handle(name, position, shown.length),
                    move: order.move,
                  }
                : undefined
            }
          />
        )}
        {all.length > 0 && shown.length === 0 && wanted === "" && (
          <p className="py-6 text-ink-faint">{words.allHidden}</p>
        )}
        <Announcement text={order.announcement} />
      </ListScreen>
      <InUseDialog inUse={actions.inUse} onClose={actions.dismissInUse} />
      <Outlet />
    </>
  );
}
