import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { IconButton } from "./ui/button";

type SidePanelProps = {
  title: ReactNode;
  subtitle?: ReactNode;
  /** Kept in view under the scrolled content. */
  footer?: ReactNode;
  onClose(): void;
  /** For what needs to be read rather than filled in. */
  wide?: boolean;
  children: ReactNode;
};

/**
 * Details beside the list they belong to, which stays visible and usable. Whoever opens one gives it a URL of its own.
 * Takes the focus when it opens and gives it back when it closes; Escape closes.
 */
export function SidePanel({ title, subtitle, footer, onClose, wide = false, children }: SidePanelProps) {
  const messages = useMessages();
  const titleId = useId();
  const panel = useRef<HTMLElement>(null);

  useEffect(() => {
    const before = document.activeElement instanceof HTMLElement ? document.activeElement : document.body;
    const first = panel.current?.querySelector<HTMLElement>("[data-autofocus]") ?? panel.current;
    first?.focus({ preventScroll: true });
    // What was pressed may have gone with its screen: the keyboard then goes on at the content, not at the rail.
    const isGone = () => before === document.body || !before.isConnected;
    const place = () => (isGone() ? document.getElementById("content") : before);
    return () => place()?.focus({ preventScroll: true });
  }, []);

  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    // A button that is switched off while it works loses the focus to nobody.
    const onKeyDown = (event: KeyboardEvent) => {
      const nowhere = document.activeElement === null || document.activeElement === document.body;
      if (event.key === "Escape" && !event.defaultPrevented && nowhere) latest.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  return (
    <aside
      ref={panel}
      tabIndex={-1}
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) {
          event.stopPropagation();
          onClose();
        }
      }}
      className={cn(
        "fixed inset-y-0 right-0 z-20 flex max-w-[calc(100vw-56px)] animate-slide-in flex-col bg-raised shadow-panel outline-none",
        wide ? "w-[580px]" : "w-[480px]",
      )}
    >
      <header className="flex items-start gap-3 border-b px-5 py-3.5">
        <div className="min-w-0 flex-1">
          <h2 id={titleId} className="break-words font-semibold text-md">
            {title}
          </h2>
          {subtitle && <div className="mt-0.5 text-ink-soft">{subtitle}</div>}
        </div>
        <IconButton label={messages.common.close} onClick={onClose} className="-mr-1.5">
          <X aria-hidden />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
      {footer && <footer className="flex items-center gap-2 border-t px-5 py-3">{footer}</footer>}
    </aside>
  );
}
