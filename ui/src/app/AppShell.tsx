import { type ErrorComponentProps, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { Toaster } from "sonner";
import { Screen } from "@/components/Screen";
import { StateSign } from "@/components/StateSign";
import { Button } from "@/components/ui/button";
import { useLiveUpdates } from "@/host/queries";
import { useMessages } from "@/i18n";
import { CommandPalette } from "./CommandPalette";
import { GatewayTrouble, useGatewayTrouble } from "./GatewayTrouble";
import { Rail } from "./Rail";
import { useSettingAnchor } from "./use-setting-anchor";

/** Rail, content, palette and notices: what stays while screens come and go. */
export function AppShell() {
  const messages = useMessages();
  const connected = useLiveUpdates();
  const trouble = useGatewayTrouble();
  const [paletteOpen, setPaletteOpen] = useState(false);
  const content = useScrollToTop();
  useSettingAnchor();
  // The guided set-up has the window to itself.
  const bare = useRouterState({ select: (state) => state.location.pathname.startsWith("/setup") });
  usePaletteKey(() => setPaletteOpen((open) => !open));

  return (
    <div className="flex h-full">
      <a
        href="#content"
        className="sr-only z-50 rounded-md bg-raised shadow-float focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:px-3 focus:py-2"
      >
        {messages.shell.skipToContent}
      </a>
      {!bare && <Rail connected={connected} onSearch={() => setPaletteOpen(true)} />}
      <div className="flex min-w-0 flex-1 flex-col">
        {!connected && !trouble && <Unreachable />}
        <main
          ref={content}
          id="content"
          data-scroll
          tabIndex={-1}
          aria-label={messages.shell.main}
          className="min-h-0 flex-1 overflow-y-auto outline-none"
        >
          {trouble ? <GatewayTrouble state={trouble} /> : <Outlet />}
        </main>
      </div>
      <CommandPalette open={paletteOpen} onOpenChange={setPaletteOpen} />
      <Notices />
    </div>
  );
}

function Unreachable() {
  const messages = useMessages();
  return (
    <div role="status" className="flex min-h-9 items-center gap-2 border-b bg-blocked-soft px-6 py-1.5">
      <StateSign state="blocked" />
      <span className="font-medium text-blocked">{messages.shell.unreachableTitle}</span>
      <span className="min-w-0 truncate text-ink-soft">{messages.shell.unreachableHelp}</span>
    </div>
  );
}

function Notices() {
  return (
    <Toaster
      position="bottom-center"
      gap={8}
      toastOptions={{
        unstyled: true,
        classNames: {
          toast:
            "flex w-[420px] max-w-[calc(100vw-32px)] items-center gap-3 rounded-lg bg-raised px-4 py-2.5 text-sm text-ink shadow-float",
          content: "min-w-0 flex-1 break-words",
          description: "mt-0.5 line-clamp-4 font-mono text-ink-faint text-xs",
          icon: "text-ready [[data-type=error]_&]:text-blocked [&_svg]:size-4",
          actionButton:
            "shrink-0 rounded-md px-2 py-1 font-medium text-accent-text transition-colors duration-100 hover:bg-accent-soft",
        },
      }}
    />
  );
}

function usePaletteKey(toggle: () => void): void {
  const latest = useRef(toggle);
  latest.current = toggle;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}

/** A new screen starts at its top; a panel opening beside a list leaves the list where it was. */
function useScrollToTop() {
  const content = useRef<HTMLElement>(null);
  const screen = useRouterState({
    select: (state) => state.matches.findLast((match) => !match.staticData.panel)?.pathname,
  });
  useEffect(() => {
    if (screen) content.current?.scrollTo?.({ top: 0 });
  }, [screen]);
  return content;
}

export function NotFound() {
  const messages = useMessages();
  const navigate = useNavigate();
  return (
    <Screen title={messages.shell.notFound} help={messages.shell.notFoundHelp}>
      <Button onClick={() => void navigate({ to: "/home" })}>{messages.shell.goHome}</Button>
    </Screen>
  );
}

/** A screen that broke: said plainly, with the way on. */
export function Crashed({ error, reset }: ErrorComponentProps) {
  const messages = useMessages();
  return (
    <div role="alert">
      <Screen title={messages.errors.crashed} help={messages.errors.crashedHelp}>
        <pre className="mb-4 select-text whitespace-pre-wrap font-mono text-ink-faint text-xs">{String(error)}</pre>
        <Button onClick={reset}>{messages.common.retry}</Button>
      </Screen>
    </div>
  );
}
