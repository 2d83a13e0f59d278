/** Choosing several rows of a list: a box per row, one for all of them, and space on the keyboard. */
import { useEffect, useRef, useState } from "react";
import { useMessages } from "@/i18n";
import type { Column } from "./DataTable";

export type Selection = {
  /** Chosen and still in the list, in its order. */
  readonly keys: readonly string[];
  has(key: string): boolean;
  toggle(key: string): void;
  toggleAll(): void;
  readonly all: boolean;
  clear(): void;
};

const nothing: ReadonlySet<string> = new Set();

/** `selectable` are the rows in view that may be chosen: what is filtered out or gone is not acted upon. */
export function useSelection(selectable: readonly string[]): Selection {
  const [chosen, setChosen] = useState(nothing);
  const keys = selectable.filter((key) => chosen.has(key));
  const all = keys.length > 0 && keys.length === selectable.length;
  return {
    keys,
    all,
    has: (key) => chosen.has(key),
    toggle: (key) => {
      const next = new Set(keys);
      if (!next.delete(key)) next.add(key);
      setChosen(next);
    },
    toggleAll: () => setChosen(all ? nothing : new Set(selectable)),
    clear: () => setChosen(nothing),
  };
}

type Boxes<Row> = {
  selection: Selection;
  keyOf(row: Row): string;
  label(row: Row): string;
  /** Rows that cannot be chosen have no box. */
  selectable?(row: Row): boolean;
};

export function useSelectionColumn<Row>({ selection, keyOf, label, selectable }: Boxes<Row>): Column<Row> {
  const words = useMessages().common;
  return {
    id: "select",
    header: words.select,
    head: (
      <Box
        label={words.selectAll}
        checked={selection.all}
        mixed={!selection.all && selection.keys.length > 0}
        onToggle={selection.toggleAll}
      />
    ),
    width: "20px",
    cell: (row, current) =>
      selectable?.(row) === false ? null : (
        <Box
          label={label(row)}
          checked={selection.has(keyOf(row))}
          tabIndex={current ? 0 : -1}
          onToggle={() => selection.toggle(keyOf(row))}
        />
      ),
  };
}

type BoxProps = { label: string; checked: boolean; mixed?: boolean; tabIndex?: number; onToggle(): void };

function Box({ label, checked, mixed = false, tabIndex, onToggle }: BoxProps) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = mixed;
  }, [mixed]);
  return (
    // The label reaches over the whole cell, so that the pointer need not aim.
    <label className="-m-2 flex p-2">
      <input
        ref={box}
        type="checkbox"
        aria-label={label}
        checked={checked}
        tabIndex={tabIndex}
        onChange={onToggle}
        className="size-4 shrink-0"
      />
    </label>
  );
}
