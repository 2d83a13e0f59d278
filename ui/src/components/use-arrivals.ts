/**
 * Rows that arrive at the head of a list while somebody reads it. At the top they slide in; further down, or while the
 * list is held, the view moves along with what is read, and the arrivals are counted instead.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

export type Arrivals = {
  /** What arrived above, unseen: “3 new”. */
  label(count: number): string;
  /** Keeps what is read in its place even at the top, as while a row's details are open. */
  hold: boolean;
};

/** Closer to the top than this, one watches for what comes in. */
const READING_BELOW_PX = 24;
const nothing: ReadonlySet<string> = new Set();

export function useArrivals(
  grid: RefObject<HTMLElement | null>,
  keys: readonly string[],
  rowHeight: number,
  arrivals: Arrivals | undefined,
) {
  const known = useRef(keys);
  const [unseen, setUnseen] = useState(0);
  const [fresh, setFresh] = useState(nothing);
  const [moving, setMoving] = useState(false);
  const wanted = arrivals !== undefined;
  const hold = arrivals?.hold ?? false;

  const latestHold = useRef(hold);
  latestHold.current = hold;

  useLayoutEffect(() => {
    const first = known.current[0];
    known.current = keys;
    if (!wanted || first === undefined) return;
    const added = keys.indexOf(first);
    if (added <= 0) return;
    const view = scrollerOf(grid.current);
    if (view && (latestHold.current || view.scrollTop > READING_BELOW_PX)) {
      setMoving(false);
      view.scrollTop += added * rowHeight;
      // A list that does not fill its view cannot keep its place: the arrivals are then in sight.
      if (view.scrollTop > READING_BELOW_PX) setUnseen((count) => count + added);
    } else {
      setFresh(new Set(keys.slice(0, added)));
      setMoving(true);
    }
  }, [keys, wanted, grid, rowHeight]);

  useEffect(() => {
    const view = wanted ? scrollerOf(grid.current) : null;
    if (!view) return;
    const onScroll = () => {
      setMoving(false);
      setFresh(nothing);
      if (view.scrollTop <= READING_BELOW_PX) setUnseen(0);
    };
    view.addEventListener("scroll", onScroll, { passive: true });
    return () => view.removeEventListener("scroll", onScroll);
  }, [wanted, grid]);

  const showNewest = useCallback(() => scrollerOf(grid.current)?.scrollTo({ top: 0 }), [grid]);
  return { unseen, fresh, moving, showNewest };
}

export function scrollerOf(element: HTMLElement | null): HTMLElement | null {
  return element?.closest<HTMLElement>("[data-scroll]") ?? null;
}
