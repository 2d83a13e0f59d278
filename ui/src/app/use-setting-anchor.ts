import { useRouterState } from "@tanstack/react-router";
import { useEffect } from "react";

/** A screen reads its settings first; longer than this it has none of that name. */
const PATIENCE_MS = 5_000;
const control = "input, select, textarea, button[role=switch], button[role=combobox], button";

/** An address that ends in `#providerBreaker.resetTimeoutMs` leads to that setting, ready to be changed. */
export function useSettingAnchor(): void {
  const { hash, pathname } = useRouterState({ select: ({ location }) => location });
  useEffect(() => {
    if (!hash || !(pathname.startsWith("/settings/") || pathname === "/combos/defaults")) return;
    const reach = () => {
      const row = document.querySelector<HTMLElement>(`[data-setting="${CSS.escape(hash)}"]`);
      row?.scrollIntoView?.({ block: "center" });
      row?.querySelector<HTMLElement>(control)?.focus({ preventScroll: true });
      return row !== null;
    };
    if (reach()) return;
    const watch = new MutationObserver(() => {
      if (reach()) watch.disconnect();
    });
    watch.observe(document.body, { childList: true, subtree: true });
    const late = setTimeout(() => watch.disconnect(), PATIENCE_MS);
    return () => {
      clearTimeout(late);
      watch.disconnect();
    };
  }, [hash, pathname]);
}
