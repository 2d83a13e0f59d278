import { type KeyboardEvent, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

/** `[copied, copy]`: `copied` is true for a moment after the text reached the clipboard. */
export function useCopy(): [boolean, (text: string) => Promise<void>] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = useCallback(async (text: string) => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setCopied(false), 1_600);
  }, []);
  return [copied, copy];
}

/** Whether a key press belongs to a field the person is typing in. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** A value that follows `source`, a text or a number, until the person edits it, and again after that is settled. */
export function useDraft<T extends string | number>(source: T): [T, (value: T) => void, boolean] {
  const [draft, setDraft] = useState<T | null>(null);
  const [followed, setFollowed] = useState(source);
  if (followed !== source) {
    // Settled: what was typed shall not come back when the source does.
    setFollowed(source);
    setDraft(null);
  }
  const edited = draft !== null && draft !== source;
  return [followed === source && draft !== null ? draft : source, setDraft, edited];
}

/** Saves a draft when it is confirmed with ⏎ or left; leaving does not repeat what was just tried. */
export function useCommit(draft: string, edited: boolean, save: () => void) {
  const tried = useRef<string | null>(null);
  const attempt = () => {
    if (!edited) return;
    tried.current = draft;
    save();
  };
  return {
    onBlur: () => {
      if (tried.current !== draft) attempt();
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter") attempt();
    },
  };
}

/** A value once it has stood still for a while: what follows what is typed without following every letter. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/** Whether the window has room for a second column; the breakpoints are those of `tokens.css`. */
export const useRoomy = atLeast("1180px");
/** Whether the rail shows words beside its signs. */
export const useWide = atLeast("960.02px");

function atLeast(width: string): () => boolean {
  const query = () => matchMedia(`(min-width: ${width})`);
  const matches = () => query().matches;
  const watch = (listener: () => void) => {
    const watched = query();
    watched.addEventListener("change", listener);
    return () => watched.removeEventListener("change", listener);
  };
  return () => useSyncExternalStore(watch, matches);
}
