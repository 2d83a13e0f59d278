/** Reordering rows of one height with the pointer. The native drag and drop of web views differs too much to rely on. */
import { type PointerEvent, useState } from "react";

type Drag = { index: number; startY: number; offset: number };

export function useRowDrag(rowHeight: number, rowCount: number, onMove: (from: number, to: number) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const target = drag && clamp(drag.index + Math.round(drag.offset / rowHeight), rowCount);

  const end = (commit: boolean) => {
    if (commit && drag && target !== null && target !== drag.index) onMove(drag.index, target);
    setDrag(null);
  };

  return {
    /** The row being dragged. */
    index: drag?.index ?? null,

    /** How far a row is away from its place right now, in pixels. */
    shiftOf(index: number): number {
      if (!drag || target === null) return 0;
      if (index === drag.index) return drag.offset;
      if (index > drag.index && index <= target) return -rowHeight;
      if (index < drag.index && index >= target) return rowHeight;
      return 0;
    },

    handle: (index: number) => ({
      onPointerDown(event: PointerEvent<HTMLElement>) {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ index, startY: event.clientY, offset: 0 });
      },
      onPointerMove(event: PointerEvent<HTMLElement>) {
        if (!drag) return;
        const highest = -drag.index * rowHeight;
        const lowest = (rowCount - 1 - drag.index) * rowHeight;
        setDrag({ ...drag, offset: Math.max(highest, Math.min(event.clientY - drag.startY, lowest)) });
      },
      onPointerUp: () => end(true),
      onPointerCancel: () => end(false),
    }),
  };
}

function clamp(index: number, count: number): number {
  return Math.max(0, Math.min(index, count - 1));
}
