/** Where things of different heights stand while one of them is dragged through their list. */

export type Extent = { readonly top: number; readonly height: number };

/** The index at which the dragged one would be put down. */
export function landing(extents: readonly Extent[], from: number, offset: number): number {
  const dragged = extents[from];
  if (!dragged) return from;
  const middle = dragged.top + offset + dragged.height / 2;
  let to = from;
  for (let index = from + 1; index < extents.length && middle > centre(extents[index]); index += 1) to = index;
  for (let index = from - 1; index >= 0 && middle < centre(extents[index]); index -= 1) to = index;
  return to;
}

/** How far the one at `index` steps aside. */
export function aside(extents: readonly Extent[], from: number, to: number, index: number): number {
  const height = extents[from]?.height ?? 0;
  if (index > from && index <= to) return -height;
  if (index < from && index >= to) return height;
  return 0;
}

function centre(extent: Extent | undefined): number {
  return extent ? extent.top + extent.height / 2 : 0;
}
