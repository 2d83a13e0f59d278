/**
 * The list of every screen: 40 px rows, sticky header, one tab stop, ↑ ↓ to move, ⏎ to open, space to switch, virtual when
 * long. A row's own controls join the tab order only while the row is the current one.
 *
 * Built from roles, not from table elements, because rows are placed by transform; `biome.json` knows.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowUp, GripVertical } from "lucide-react";
import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { cn } from "@/lib/cn";
import { type Arrivals, scrollerOf, useArrivals } from "./use-arrivals";
import { useRowDrag } from "./use-row-drag";

export type Column<Row> = {
  readonly id: string;
  readonly header: string;
  /** Instead of the words, which it then carries itself. */
  readonly head?: ReactNode;
  /** A grid track: `minmax(0, 2fr)`, `96px`. */
  readonly width: string;
  readonly align?: "end";
  /** Left out in a narrow window. */
  readonly roomy?: boolean;
  /** Left out in the smallest windows. */
  readonly snug?: boolean;
  /** Holds a plain button: its words end with the column, its edge reaches into the row's margin. */
  readonly acts?: boolean;
  /** `current` is whether the row is where the keyboard is: its controls are then reachable. */
  cell(row: Row, current: boolean): ReactNode;
};

export type Reorder<Row> = {
  label(row: Row, position: number): string;
  /** Puts the row at `from` where the row at `to` is. */
  move(from: number, to: number): void;
};

type DataTableProps<Row> = {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey(row: Row): string;
  /** Rows are drawn under the heading this gives; they must already be in order. */
  groupOf?(row: Row): string;
  onOpen?(row: Row): void;
  onToggle?(row: Row): void;
  /** The row whose details are shown beside the list. */
  openKey?: string | undefined;
  reorder?: Reorder<Row> | undefined;
  faded?(row: Row): boolean;
  /** For a list that grows at its head while it is read. */
  arrivals?: Arrivals;
  /** For a list whose rows leave by themselves: those below move up, seen to. */
  glides?: boolean;
};

type Line<Row> = { kind: "group"; title: string } | { kind: "row"; row: Row; index: number };

export const ROW_HEIGHT = 40;
const VIRTUAL_ABOVE = 60;

/** A hairline that ends with the text, while the row itself reaches further for the pointer. */
const hairline = "after:absolute after:inset-x-2 after:bottom-0 after:h-px after:bg-line";
const INTERACTIVE = "a, button, input, select, textarea, [role=switch], label";

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rows, columns, rowKey, groupOf, onOpen, onToggle, openKey, reorder, faded, arrivals, glides } = props;
  const id = useId();
  const grid = useRef<HTMLDivElement>(null);
  const [currentKey, setCurrentKey] = useState<string | null>(null);
  const lines = useMemo(() => toLines(rows, groupOf), [rows, groupOf]);
  const current = rows.findIndex((row) => rowKey(row) === currentKey);
  const drag = useRowDrag(ROW_HEIGHT, rows.length, (from, to) => reorder?.move(from, to));
  const tracksOf = (shown: readonly Column<Row>[]) => shown.map(({ width }) => width).join(" ");
  const narrow = columns.filter(({ roomy }) => !roomy);
  const visible = useVisibleLines(grid, lines.length);
  const keys = useMemo(() => rows.map(rowKey), [rows, rowKey]);
  const arrived = useArrivals(grid, keys, ROW_HEIGHT, arrivals);

  const goTo = (index: number) => {
    const row = rows[Math.max(0, Math.min(index, rows.length - 1))];
    if (!row) return;
    setCurrentKey(rowKey(row));
    visible.reveal(lines.findIndex((line) => line.kind === "row" && line.row === row));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = rows[current];
    switch (event.key) {
      case "ArrowDown":
        goTo(current + 1);
        break;
      case "ArrowUp":
        goTo(current < 0 ? 0 : current - 1);
        break;
      case "Home":
        goTo(0);
        break;
      case "End":
        goTo(rows.length - 1);
        break;
      case "Enter":
        if (row) onOpen?.(row);
        break;
      case " ":
        if (row) onToggle?.(row);
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  const gridStyle = {
    "--tracks": tracksOf(columns),
    "--narrow-tracks": tracksOf(narrow),
    "--least-tracks": tracksOf(narrow.filter(({ snug }) => !snug)),
  } as React.CSSProperties;
  const rowClass = cn(
    "grid items-center gap-x-4 px-2",
    "grid-cols-[var(--least-tracks)] snug:grid-cols-[var(--narrow-tracks)] roomy:grid-cols-[var(--tracks)]",
  );

  return (
    <div
      ref={grid}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
      aria-activedescendant={current >= 0 ? `${id}-${current}` : undefined}
      onKeyDown={onKeyDown}
      onFocus={(event) => {
        if (event.target === event.currentTarget && current < 0)
          goTo(
            Math.max(
              0,
              rows.findIndex((r) => rowKey(r) === openKey),
            ),
          );
      }}
      style={gridStyle}
      className={cn("group/grid -mx-2 rounded-sm", current >= 0 && "outline-none")}
    >
      <div role="row" className={cn(rowClass, hairline, "sticky top-0 z-10 h-8 bg-canvas text-ink-faint text-xs")}>
        {reorder && <div role="gridcell" className="absolute" />}
        {columns.map((column) => (
          <HeaderCell key={column.id} {...column} />
        ))}
        {arrivals && arrived.unseen > 0 && (
          <div role="gridcell" className="pointer-events-none absolute inset-x-0 top-10 flex justify-center">
            <button
              type="button"
              onClick={arrived.showNewest}
              className="pointer-events-auto flex h-7 animate-appear items-center gap-1 rounded-full bg-accent px-3 font-medium text-accent-ink shadow-float hover:bg-accent-hover"
            >
              <ArrowUp aria-hidden className="size-3.5" />
              {arrivals.label(arrived.unseen)}
            </button>
          </div>
        )}
      </div>
      <div role="rowgroup" className="relative" style={{ height: lines.length * ROW_HEIGHT }}>
        {visible.indexes.map((position) => {
          const line = lines[position];
          if (!line) return null;
          const top = position * ROW_HEIGHT;
          if (line.kind === "group") return <GroupLine key={`group ${line.title}`} title={line.title} top={top} />;
          const { row, index } = line;
          const key = rowKey(row);
          const isCurrent = index === current;
          const shift = drag.shiftOf(index);
          return (
            <div
              key={key}
              id={`${id}-${index}`}
              role="row"
              aria-rowindex={index + 2}
              aria-selected={key === openKey}
              onClick={(event) => {
                setCurrentKey(key);
                if (!(event.target as Element).closest(INTERACTIVE)) onOpen?.(row);
              }}
              style={{ height: ROW_HEIGHT, transform: `translateY(${top + shift}px)` }}
              className={cn(
                rowClass,
                hairline,
                "group/row absolute inset-x-0 top-0 rounded-md",
                onOpen && "hover:bg-hover",
                key === openKey && "bg-selected hover:bg-selected",
                isCurrent &&
                  "group-focus-visible/grid:outline-2 group-focus-visible/grid:-outline-offset-2 group-focus-visible/grid:outline-focus",
                drag.index === index && "z-10 bg-raised shadow-float",
                drag.index !== null && drag.index !== index && "transition-transform duration-100",
                (arrived.moving || glides) && "transition-transform duration-[140ms]",
                arrived.fresh.has(key) && "animate-arrive",
              )}
            >
              {reorder && (
                // In the margin, so that what is moved begins where everything else does.
                <div role="gridcell" className="absolute -left-4.5 flex">
                  <button
                    type="button"
                    data-handle={key}
                    tabIndex={isCurrent ? 0 : -1}
                    aria-label={reorder.label(row, index + 1)}
                    className="inline-flex h-7 w-5 cursor-grab touch-none items-center justify-center rounded-md text-ink-faint opacity-0 hover:text-ink focus-visible:opacity-100 active:cursor-grabbing group-hover/row:opacity-100"
                    {...drag.handle(index)}
                    onKeyDown={(event) => {
                      const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
                      if (step === 0) return;
                      event.preventDefault();
                      event.stopPropagation();
                      const to = index + step;
                      if (to < 0 || to >= rows.length) return;
                      reorder.move(index, to);
                      refocusHandle(grid.current, key);
                    }}
                  >
                    <GripVertical aria-hidden className="size-4" />
                  </button>
                </div>
              )}
              {columns.map((column) => (
                <div
                  key={column.id}
                  role="gridcell"
                  className={cn(
                    "min-w-0",
                    column.acts ? "-mr-2 justify-self-end" : "truncate",
                    column.align === "end" && "text-right",
                    column.roomy && "max-roomy:hidden",
                    column.snug && "max-snug:hidden",
                    faded?.(row) && "text-ink-faint",
                  )}
                >
                  {column.cell(row, isCurrent)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

type HeaderCellProps = Pick<Column<never>, "header" | "head" | "align" | "roomy" | "snug">;

function HeaderCell({ header, head, align, roomy, snug }: HeaderCellProps) {
  return (
    <div
      role={header ? "columnheader" : "gridcell"}
      className={cn(
        "truncate",
        align === "end" && "text-right",
        roomy && "max-roomy:hidden",
        snug && "max-snug:hidden",
      )}
    >
      {head ?? header}
    </div>
  );
}

function GroupLine({ title, top }: { title: string; top: number }) {
  return (
    <div
      role="row"
      style={{ height: ROW_HEIGHT, transform: `translateY(${top}px)` }}
      className={cn(hairline, "absolute inset-x-0 top-0 flex items-end px-2 pb-1.5")}
    >
      <div role="rowheader" className="font-medium text-ink-soft text-xs">
        {title}
      </div>
    </div>
  );
}

function toLines<Row>(rows: readonly Row[], groupOf: ((row: Row) => string) | undefined): Line<Row>[] {
  const lines: Line<Row>[] = [];
  let group: string | undefined;
  rows.forEach((row, index) => {
    const title = groupOf?.(row);
    if (title !== undefined && title !== group) lines.push({ kind: "group", title });
    group = title;
    lines.push({ kind: "row", row, index });
  });
  return lines;
}

/** Which lines to draw: all of a short list, those near the view of a long one. */
function useVisibleLines(grid: React.RefObject<HTMLDivElement | null>, total: number) {
  const [margin, setMargin] = useState(0);
  const isLong = total > VIRTUAL_ABOVE;
  const scroller = () => scrollerOf(grid.current);
  const virtual = useVirtualizer({
    count: total,
    enabled: isLong,
    getScrollElement: scroller,
    estimateSize: () => ROW_HEIGHT,
    scrollMargin: margin,
    scrollPaddingStart: ROW_HEIGHT,
    overscan: 12,
  });
  useLayoutEffect(() => {
    const view = scroller();
    if (view && grid.current) {
      setMargin(grid.current.getBoundingClientRect().top - view.getBoundingClientRect().top + view.scrollTop + 32);
    }
  });
  return {
    indexes: isLong
      ? virtual.getVirtualItems().map((item) => item.index)
      : Array.from({ length: total }, (_, index) => index),
    reveal(line: number) {
      if (isLong) virtual.scrollToIndex(line);
      else grid.current?.querySelectorAll("[role=rowgroup] > *")[line]?.scrollIntoView?.({ block: "nearest" });
    },
  };
}

/** Moving a row in the document takes the focus away from its handle. */
function refocusHandle(grid: HTMLElement | null, key: string): void {
  requestAnimationFrame(() => {
    const handles = [...(grid?.querySelectorAll<HTMLElement>("[data-handle]") ?? [])];
    handles.find(({ dataset }) => dataset.handle === key)?.focus();
  });
}

/** Keeps the last announcement of a list for screen readers. */
export function Announcement({ text }: { text: string }) {
  const [shown, setShown] = useState("");
  useEffect(() => setShown(text), [text]);
  return (
    <span role="status" className="sr-only">
      {shown}
    </span>
  );
}
