/** One account: how it stands at the left, its windows as bars at the right. */
import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import type { QuotaBalance, QuotaConnection } from "@/bindings";
import { Meter } from "@/components/Meter";
import { StatusBadge } from "@/components/StatusBadge";
import { RelativeTime, Reset } from "@/components/Time";
import { useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { problemOf, type ShownWindow, type Standing, standingOf, windowStanding, windowsOf } from "@/lib/quota";
import { useNow } from "@/lib/use-now";
import { QuotaCourse } from "./QuotaCourse";
import { windowWords } from "./window-words";

type QuotaAccountProps = { account: QuotaConnection; name: string; warnPercent: number };

export function QuotaAccount({ account, name, warnPercent }: QuotaAccountProps) {
  const words = useMessages().quota;
  const now = useNow();
  const courseId = useId();
  const [open, setOpen] = useState(false);
  const windows = windowsOf(account, now);
  const isKnown = windows.length > 0 || account.balances.length > 0;
  const problem = problemOf(account);
  const standing = standingOf(account, warnPercent, now);
  return (
    <li className="flex flex-wrap gap-x-8 gap-y-2 border-b py-3 last:border-b-0">
      <div className="w-56 min-w-0 shrink-0">
        <p className="flex min-w-0 items-baseline gap-2">
          <Link
            to="/providers/$providerId/connections/$connectionId"
            params={{ providerId: account.provider, connectionId: account.connectionId }}
            title={name}
            className="min-w-0 truncate font-medium hover:underline"
          >
            {name}
          </Link>
          {account.plan && <span className="shrink-0 text-ink-faint text-xs">{account.plan}</span>}
        </p>
        {standing !== "unknown" && <StatusBadge state={states[standing]} word={words.standings[standing]} />}
        {account.source && (
          <p className="text-ink-faint text-xs">
            {words.sources[account.source]}
            {account.fetchedAt && (
              <>
                , <RelativeTime at={account.fetchedAt} />
              </>
            )}
          </p>
        )}
      </div>
      <div className="flex min-w-64 flex-1 flex-col gap-1.5">
        {windows.map((window) => (
          <WindowRow
            key={`${window.ofModel} ${window.name}`}
            window={window}
            account={name}
            standing={windowStanding(window.used, warnPercent)}
          />
        ))}
        {account.balances.map((balance) => (
          <Balance key={balance.currency} balance={balance} />
        ))}
        {problem && (
          <div>
            <p className={cn(isKnown && "text-xs", "text-ink-soft")}>{words.inVain}</p>
            <p className="select-text break-words font-mono text-ink-faint text-xs">{problem}</p>
          </div>
        )}
        {windows.length > 0 && (
          <button
            type="button"
            aria-expanded={open}
            aria-controls={courseId}
            onClick={() => setOpen(!open)}
            className="-ml-1 inline-flex items-center gap-1 self-start rounded-md px-1 py-0.5 text-ink-soft text-xs hover:bg-hover hover:text-ink"
          >
            <ChevronRight
              aria-hidden
              className={cn("size-3.5 text-ink-faint transition-transform duration-100", open && "rotate-90")}
            />
            {words.course.title}
          </button>
        )}
        <div id={courseId} hidden={!open}>
          {open && <QuotaCourse connectionId={account.connectionId} account={name} />}
        </div>
      </div>
    </li>
  );
}

const states = { usedUp: "blocked", low: "degraded", enough: "ready" } as const;

const tones = { usedUp: "blocked", low: "degraded", enough: "ready", unknown: "ready" } as const;

type WindowRowProps = { window: ShownWindow; account: string; standing: Standing };

function WindowRow({ window, account, standing }: WindowRowProps) {
  const messages = useMessages();
  const words = messages.quota;
  const format = useFormat();
  const label = window.ofModel ? window.name : windowWords(window.name, messages);
  const { used } = window;
  const value = used === null ? words.unknown : words.used(format.percent(used));
  return (
    <div className="grid grid-cols-[minmax(72px,136px)_minmax(48px,1fr)_76px_minmax(96px,144px)] items-center gap-x-3">
      <span className={cn("truncate", window.ofModel && "font-mono text-xs")} title={window.name}>
        {label}
      </span>
      <Meter part={used} tone={tones[standing]} label={words.meter(label, account)} text={value} />
      <span className={cn("text-right", used === null ? "text-ink-faint" : "text-ink-soft")}>{value}</span>
      <span className="text-ink-faint text-xs">{window.resetAt && <Reset at={window.resetAt} />}</span>
    </div>
  );
}

function Balance({ balance: { currency, remaining, total } }: { balance: QuotaBalance }) {
  const words = useMessages().quota;
  const format = useFormat();
  const write = (amount: number | null) =>
    amount === null ? words.unknown : `${format.hundredths(amount)} ${currency}`;
  return <p>{total === null ? words.left(write(remaining)) : words.leftOf(write(remaining), write(total))}</p>;
}
