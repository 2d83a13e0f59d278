/** A combo in full: what it is called, how it chooses, where it leads; and beside it what it would do now. */
import { useNavigate } from "@tanstack/react-router";
import { CopyPlus, Dices, Ellipsis, FlaskConical, Trash2 } from "lucide-react";
import { useEffect, useRef } from "react";
import type { Combo, ComboWarning } from "@/bindings";
import { BackLink } from "@/components/BackLink";
import { notify } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { ErrorLine } from "@/components/States";
import { Button, IconButton } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { useRoomy } from "@/lib/hooks";
import { ComboForm, isPlaced } from "./ComboForm";
import { InUseDialog } from "./InUseDialog";
import { LeaveGuard } from "./LeaveGuard";
import { Preview } from "./Preview";
import { ProblemList } from "./ProblemList";
import { useComboActions } from "./use-combo-actions";
import { useComboDraft } from "./use-combo-draft";

type ComboEditorProps = { saved: Combo | null; warnings: readonly ComboWarning[] };

export function ComboEditor({ saved, warnings }: ComboEditorProps) {
  const messages = useMessages();
  const words = messages.combos;
  const navigate = useNavigate();
  const editing = useComboDraft(saved);
  const actions = useComboActions();
  /** Set where leaving loses nothing although the draft still differs. */
  const leaving = useRef(false);
  const isRoomy = useRoomy();
  const { draft, isDirty, isPending } = editing;
  const unchangedId = saved && !isDirty ? saved.id : null;
  const canSave = isDirty && !isPending && draft.name.trim() !== "";

  const save = () => {
    if (!canSave) return;
    editing.save(({ id, name }) => {
      if (saved) {
        notify.done(words.saved(name));
        return;
      }
      notify.done(words.created(name));
      leaving.current = true;
      void navigate({ to: "/combos/$comboId", params: { comboId: id }, replace: true });
    });
  };
  useSaveKey(save);
  const unplaced = editing.problems.filter(({ field }) => !isPlaced(field, draft));

  return (
    <>
      <Screen
        pinned
        before={<BackLink to="/combos">{words.back}</BackLink>}
        title={saved ? <Name>{saved.name}</Name> : words.newTitle}
        actions={
          <>
            <span role="status" className="text-ink-faint text-xs">
              {saved && isDirty ? words.unsaved : ""}
            </span>
            {saved && isDirty && (
              <Button variant="ghost" onClick={editing.discard}>
                {words.discard}
              </Button>
            )}
            {saved && <ComboMenu combo={saved} actions={actions} leave={() => (leaving.current = true)} />}
            <Button variant="primary" onClick={save} disabled={!canSave}>
              {saved ? words.save : words.create}
            </Button>
          </>
        }
      >
        {editing.isOvertaken && <Overtaken onTakeTheirs={editing.takeTheirs} onKeepMine={editing.keepMine} />}
        {(unplaced.length > 0 || editing.refusal) && (
          <div className="mb-6">
            {editing.refusal && <ErrorLine error={editing.refusal} />}
            {unplaced.length > 0 && <ProblemList title={words.otherProblems} problems={unplaced} />}
          </div>
        )}
        <div className={cn("grid gap-x-10", isRoomy && "grid-cols-[minmax(0,1fr)_372px]")}>
          <ComboForm
            draft={draft}
            saved={saved}
            warnings={warnings}
            problems={editing.problems}
            onEdit={editing.edit}
            afterSteps={!isRoomy && <Preview draft={draft} unchangedId={unchangedId} />}
          />
          {isRoomy && (
            <div className="border-l pl-6">
              <Preview draft={draft} unchangedId={unchangedId} beside />
            </div>
          )}
        </div>
      </Screen>
      <LeaveGuard blocks={() => isDirty && !leaving.current} within={saved ? `/combos/${saved.id}` : null} />
      <InUseDialog inUse={actions.inUse} onClose={actions.dismissInUse} />
    </>
  );
}

function Name({ children }: { children: string }) {
  return (
    <code className="block truncate font-mono font-semibold" title={children}>
      {children}
    </code>
  );
}

type MenuProps = { combo: Combo; actions: ReturnType<typeof useComboActions>; leave(): void };

function ComboMenu({ combo, actions, leave }: MenuProps) {
  const messages = useMessages();
  const words = messages.combos;
  const { test } = messages.comboUse;
  const navigate = useNavigate();
  return (
    <Menu
      trigger={
        <IconButton label={words.actionsOf(combo.name)}>
          <Ellipsis aria-hidden />
        </IconButton>
      }
    >
      <MenuItem onSelect={() => void navigate({ to: "/combos/$comboId/test", params: { comboId: combo.id } })}>
        <FlaskConical aria-hidden />
        {test.action}
      </MenuItem>
      <MenuItem onSelect={() => void navigate({ to: "/monitoring/simulate", search: { name: combo.name } })}>
        <Dices aria-hidden />
        {words.simulate}
      </MenuItem>
      <MenuItem onSelect={() => actions.duplicate(combo)}>
        <CopyPlus aria-hidden />
        {words.duplicate}
      </MenuItem>
      <MenuItem
        danger
        onSelect={() =>
          actions.remove(combo, () => {
            leave();
            void navigate({ to: "/combos" });
          })
        }
      >
        <Trash2 aria-hidden />
        {words.delete}
      </MenuItem>
    </Menu>
  );
}

function Overtaken({ onTakeTheirs, onKeepMine }: { onTakeTheirs(): void; onKeepMine(): void }) {
  const words = useMessages().combos;
  return (
    <div role="status" className="mb-6 flex flex-wrap items-center gap-3 rounded-md bg-degraded-soft px-3 py-2">
      <span className="min-w-0 flex-1 font-medium text-degraded">{words.changedElsewhere}</span>
      <Button size="sm" onClick={onTakeTheirs}>
        {words.takeTheirs}
      </Button>
      <Button size="sm" onClick={onKeepMine}>
        {words.keepMine}
      </Button>
    </div>
  );
}

/** Ctrl-S or ⌘-S, as everywhere else. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save);
  latest.current = save;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      // What is being typed counts as said.
      if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
      requestAnimationFrame(() => latest.current());
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
