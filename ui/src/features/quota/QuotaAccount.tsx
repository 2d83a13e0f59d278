/** One account: how it stands at the left, its windows as bars at the right. */
import { Link } from "@tanstack/react-router";
import type { QuotaBalance, QuotaConnection } from "@/bindings";
import { Meter } from "@/components/Meter";
import { StatusBadge } from "@/components/StatusBadge";
import { RelativeTime } from "@/components/Time";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { problemOf, type ShownWindow, type Standing, standingOf, windowStanding, windowsOf } from "@/lib/quota";
import { useNow } from "@/lib/use-now";

type QuotaAccountProps = { account: QuotaConnection; name: string; warnPercent: number };

export function QuotaAccount({ account, name, warnPercent }: QuotaAccountProps) {
  const words = useMessages().quota;
  const now = useNow();
  const windows = windowsOf(account, now);
  const isKnown = windows.length > 0 || account.balances.length > 0;
  const problem = problemOf(account);
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
        <StandingBadge standing={standingOf(account, warnPercent, now)} />
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
        {!isKnown && <p className="text-ink-faint">{account.canRefresh ? words.notAsked : words.notAnnounced}</p>}
        {problem && (
          <p className="select-text break-words text-ink-soft text-xs">
            {words.inVain} “{problem}”
          </p>
        )}
      </div>
    </li>
  );
}

const states = { usedUp: "blocked", low: "degraded", enough: "ready" } as const;

function StandingBadge({ standing }: { standing: Standing }) {
  const words = useMessages().quota.standings;
  if (standing === "unknown") return <p className="text-ink-faint">{words.unknown}</p>;
  return <StatusBadge state={states[standing]} word={words[standing]} />;
}

const tones = { usedUp: "blocked", low: "degraded", enough: "ready", unknown: "ready" } as const;

type WindowRowProps = { window: ShownWindow; account: string; standing: Standing };

function WindowRow({ window, account, standing }: WindowRowProps) {
  const messages = useMessages();
  const words = messages.quota;
  const format = useFormat();
  const label = windowName(window, messages);
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

/** Counts down below an hour; above, the clock time says it better. */
function Reset({ at }: { at: string }) {
  const words = useMessages().quota.resets;
  const format = useFormat();
  const now = useNow();
  const instant = Date.parse(at);
  const { form, text } = format.until(instant, now);
  return (
    <time dateTime={at} title={format.full(instant)}>
      {words[form](text)}
    </time>
  );
}

function Balance({ balance: { currency, remaining, total } }: { balance: QuotaBalance }) {
  const words = useMessages().quota;
  const format = useFormat();
  const write = (amount: number | null) =>
    amount === null ? words.unknown : `${format.hundredths(amount)} ${currency}`;
  return <p>{total === null ? words.left(write(remaining)) : words.leftOf(write(remaining), write(total))}</p>;
}

function windowName({ name, ofModel }: ShownWindow, { quota: { windows, weekOf } }: Messages): string {
  if (ofModel) return name;
  if (name.startsWith("7d:")) return weekOf(name.slice(3));
  return name in windows ? windows[name as keyof typeof windows] : name;
}
