/** Reordering things of different heights with the pointer. Their places are measured when the drag begins. */
import { type PointerEvent, type RefObject, useState } from "react";
import { aside, type Extent, landing } from "@/lib/list-drag";

type Drag = { index: number; startY: number; offset: number; extents: readonly Extent[] };

export function useListDrag(list: RefObject<HTMLElement | null>, onMove: (from: number, to: number) => void) {
  const [drag, setDrag] = useState<Drag | null>(null);
  const target = drag && landing(drag.extents, drag.index, drag.offset);

  const end = (commit: boolean) => {
    if (commit && drag && target !== null && target !== drag.index) onMove(drag.index, target);
    setDrag(null);
  };

  return {
    /** The one being dragged. */
    index: drag?.index ?? null,

    /** How far one is away from its place right now, in pixels. */
    shiftOf(index: number): number {
      if (!drag || target === null) return 0;
      return index === drag.index ? drag.offset : aside(drag.extents, drag.index, target, index);
    },

    handle: (index: number) => ({
      onPointerDown(event: PointerEvent<HTMLElement>) {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        const extents = [...(list.current?.children ?? [])].map((child) => {
          const { top, height } = child.getBoundingClientRect();
          return { top, height };
        });
        setDrag({ index, startY: event.clientY, offset: 0, extents });
      },
      onPointerMove(event: PointerEvent<HTMLElement>) {
        if (drag) setDrag({ ...drag, offset: event.clientY - drag.startY });
      },
      onPointerUp: () => end(true),
      onPointerCancel: () => end(false),
    }),
  };
}
