import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { CopyButton } from "@/components/CopyButton";
import { Logo } from "@/components/Logo";
import { StateSign } from "@/components/StateSign";
import { Elapsed } from "@/components/Time";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { useWide } from "@/lib/hooks";
import { type NavigationEntry, navigation } from "./navigation";

/**
 * The left rail: 220 px with words, 56 px with signs alone in a narrow window. The lower the window, the tighter its rows; what
 * still finds no room is scrolled to, and the edge shows that it goes on.
 */
export function Rail({ connected, onSearch }: { connected: boolean; onSearch(): void }) {
  const messages = useMessages();
  const isWide = useWide();
  return (
    <header className="flex h-full w-14 shrink-0 flex-col border-r bg-rail wide:w-[220px]">
      <div className="flex h-14 shrink-0 items-center gap-2.5 px-4 low:h-12 wide:px-5 lowest:h-7 max-wide:lowest:h-2">
        <span className="flex max-wide:lowest:hidden">
          <Logo />
        </span>
        <span className="font-semibold text-md max-wide:sr-only">OmniRoute</span>
      </div>
      <div className="px-2 wide:px-3">
        <button
          type="button"
          onClick={onSearch}
          title={isWide ? undefined : messages.shell.search}
          className="flex h-8 w-full items-center justify-center lowest:h-7 gap-2 rounded-md border bg-canvas px-2 text-ink-faint transition-colors duration-100 hover:border-line-strong hover:text-ink-soft wide:justify-start"
        >
          <Search aria-hidden className="size-4 shrink-0" />
          <span className="truncate max-wide:sr-only">{messages.shell.search}</span>
          <kbd aria-hidden className="ml-auto shrink-0 whitespace-nowrap font-sans text-xs max-wide:hidden">
            {isApple() ? "⌘K" : "Ctrl K"}
          </kbd>
        </button>
      </div>
      <nav
        aria-label={messages.shell.navigation}
        className="scroll-edges min-h-0 flex-1 overflow-y-auto px-2 py-2 wide:px-3 lowest:py-1"
      >
        {navigation.map((group) => (
          <div key={group.entries[0]?.to} className="mb-3 last:mb-0 lowest:mb-2">
            {group.title && (
              <div className="px-2 pb-1 font-medium text-ink-faint text-xs max-wide:sr-only lowest:sr-only">
                {group.title(messages)}
              </div>
            )}
            <ul className="flex flex-col">
              {group.entries.map((entry) => (
                <RailLink key={entry.to} entry={entry} />
              ))}
            </ul>
          </div>
        ))}
      </nav>
      <Foot connected={connected} />
    </header>
  );
}

function RailLink({ entry }: { entry: NavigationEntry }) {
  const messages = useMessages();
  const label = entry.label(messages);
  const isWide = useWide();
  return (
    <li>
      <Link
        to={entry.to}
        // What is written beside it need not be said again, over the next entry.
        title={isWide ? undefined : label}
        className="flex h-7 items-center justify-center gap-2.5 low:h-6.5 lowest:h-6 rounded-md px-2 text-ink-soft transition-colors duration-100 hover:bg-hover hover:text-ink aria-[current=page]:bg-selected aria-[current=page]:font-medium aria-[current=page]:text-accent-text wide:justify-start"
      >
        <entry.icon aria-hidden className="size-4 shrink-0" />
        <span className="truncate max-wide:sr-only">{label}</span>
      </Link>
    </li>
  );
}

/** Where the gateway listens, for how long, and whether it does. */
function Foot({ connected }: { connected: boolean }) {
  const messages = useMessages();
  const app = useRead("app_get", null);
  const reachable = connected && !app.isError;
  const address = app.data?.url.replace(/^https?:\/\//, "") ?? "";
  return (
    <div className="flex min-h-14 shrink-0 items-center justify-center border-t low:min-h-12 lowest:min-h-8 px-2 wide:justify-between wide:px-5">
      <div className="min-w-0" title={address ? messages.shell.listening(address) : undefined}>
        <div className="flex items-center gap-1.5">
          <StateSign state={reachable ? "ready" : "blocked"} />
          <span className="truncate max-wide:sr-only">
            {reachable ? messages.shell.running : messages.shell.unreachable}
          </span>
          {reachable && app.data && (
            <span className="truncate text-ink-faint text-xs max-wide:hidden">
              · <Elapsed since={app.data.startedAt} />
            </span>
          )}
        </div>
        <div className="truncate font-mono text-ink-faint text-xs max-wide:hidden lowest:hidden">{address}</div>
      </div>
      {app.data && (
        <span className="-mr-2 max-wide:hidden">
          <CopyButton text={app.data.url} label={messages.shell.copyAddress} />
        </span>
      )}
    </div>
  );
}

function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.userAgent);
}
