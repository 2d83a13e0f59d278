/** A long column of sections, with their names beside it where the window has room: one sees what there is, and goes to it. */
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { useRoomy } from "@/lib/hooks";
import { scrollerOf } from "./use-arrivals";

/** How far below the top a section may begin and still be the one that is read. */
const READ_FROM = 96;

export function WithContents({ children }: { children: ReactNode }) {
  const words = useMessages().shell;
  const isRoomy = useRoomy();
  const body = useRef<HTMLDivElement>(null);
  const headings = useHeadings(body);
  const current = useCurrent(body, headings);
  return (
    <div className="flex items-start gap-8">
      <div ref={body} className="min-w-0 max-w-[860px] flex-1">
        {children}
      </div>
      {isRoomy && headings.length > 1 && (
        <nav aria-label={words.onThisPage} className="sticky top-6 w-44 shrink-0">
          <ul className="border-l">
            {headings.map((heading, index) => (
              <li key={nameOf(heading)}>
                <button
                  type="button"
                  aria-current={index === current ? "location" : undefined}
                  onClick={() => goTo(heading)}
                  className={cn(
                    "-ml-px block min-h-7 w-full border-l-2 py-1 pl-3 text-left text-xs transition-colors duration-100 hover:text-ink",
                    index === current ? "border-accent font-medium text-ink" : "border-transparent text-ink-faint",
                  )}
                >
                  {nameOf(heading)}
                </button>
              </li>
            ))}
          </ul>
        </nav>
      )}
    </div>
  );
}

/** Without what a heading says besides its name. */
function nameOf({ dataset, textContent }: HTMLElement): string {
  return dataset.name ?? textContent;
}

/** The keyboard goes on from there, as it would after a link. */
function goTo(heading: HTMLElement): void {
  heading.closest("section")?.scrollIntoView?.({ block: "start" });
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** The headings that stand in the column, in their order; they come when the settings are read. */
function useHeadings(body: RefObject<HTMLElement | null>): readonly HTMLElement[] {
  const [headings, setHeadings] = useState<readonly HTMLElement[]>([]);
  useEffect(() => {
    const column = body.current;
    if (!column) return;
    const look = () => {
      const found = [...column.querySelectorAll<HTMLElement>("h2")];
      setHeadings((known) => (sameNames(known, found) ? known : found));
    };
    look();
    const watch = new MutationObserver(look);
    watch.observe(column, { childList: true, subtree: true });
    return () => watch.disconnect();
  }, [body]);
  return headings;
}

function sameNames(one: readonly HTMLElement[], other: readonly HTMLElement[]): boolean {
  return one.length === other.length && one.every((heading, index) => heading === other[index]);
}

/** Which section is read: the last that began above the upper edge, and at the very end the last of all. */
function useCurrent(body: RefObject<HTMLElement | null>, headings: readonly HTMLElement[]): number {
  const [current, setCurrent] = useState(0);
  useEffect(() => {
    const view = scrollerOf(body.current);
    if (!view) return;
    const look = () => {
      const edge = view.getBoundingClientRect().top + READ_FROM;
      const begun = headings.filter((heading) => heading.getBoundingClientRect().top <= edge).length;
      const isAtEnd = view.scrollTop > 0 && view.scrollTop + view.clientHeight >= view.scrollHeight - 1;
      setCurrent(isAtEnd ? headings.length - 1 : Math.max(0, begun - 1));
    };
    look();
    view.addEventListener("scroll", look, { passive: true });
    return () => view.removeEventListener("scroll", look);
  }, [body, headings]);
  return current;
}
