/** One pool: every limit with a bar per key, its accounts, and the names that agents ask for. */
import { Link } from "@tanstack/react-router";
import { ChevronRight, SlidersHorizontal } from "lucide-react";
import type { QuotaAccountState, QuotaDimensionState, QuotaKeyState, QuotaPool, QuotaPoolState } from "@/bindings";
import { CopyButton } from "@/components/CopyButton";
import { Section } from "@/components/Field";
import { Meter, type MeterTone } from "@/components/Meter";
import { ErrorState, SkeletonRows } from "@/components/States";
import { StatusBadge } from "@/components/StatusBadge";
import { buttonClass } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { useNow } from "@/lib/use-now";

/** What it is about, how full it is, how much that is. */
const columnsClass = "grid grid-cols-[minmax(96px,200px)_minmax(48px,1fr)_minmax(128px,200px)] items-center gap-x-3";

export function Pool({ pool }: { pool: QuotaPool }) {
  const words = useMessages().pools;
  const state = useRead("quota_pool_state", { id: pool.id });
  return (
    <Section
      title={pool.name}
      action={
        <Link
          to="/monitoring/quota/pools/$poolId"
          params={{ poolId: pool.id }}
          aria-label={words.editOf(pool.name)}
          className={buttonClass({ size: "sm" })}
        >
          <SlidersHorizontal aria-hidden />
          {words.edit}
        </Link>
      }
    >
      {state.isPending && <SkeletonRows rows={2} height={48} />}
      {state.error && <ErrorState error={state.error} onRetry={() => void state.refetch()} />}
      {state.data && <PoolState state={state.data} />}
    </Section>
  );
}

function PoolState({ state }: { state: QuotaPoolState }) {
  const words = useMessages().pools;
  return (
    <div className="flex flex-col gap-5 pt-4">
      {state.dimensions.length === 0 && <p className="text-ink-faint">{words.noLimits}</p>}
      {state.dimensions.map((dimension, index) => (
        <Limit
          key={`${dimension.unit} ${dimension.window}`}
          dimension={dimension}
          keys={state.keys}
          index={index}
          pool={state.pool.name}
        />
      ))}
      <ul aria-label={words.accountsOf(state.pool.name)} className="flex flex-col gap-1.5 border-t pt-4">
        {state.accounts.map((account) => (
          <Account key={account.connectionId} account={account} />
        ))}
      </ul>
      <ModelNames state={state} />
    </div>
  );
}

type LimitProps = { dimension: QuotaDimensionState; keys: QuotaKeyState[]; index: number; pool: string };

function Limit({ dimension, keys, index, pool }: LimitProps) {
  const messages = useMessages();
  const words = messages.pools;
  const amount = useAmount();
  const format = useFormat();
  const label = words.limitOf(words.units[dimension.unit], words.windows[dimension.window]);
  const part = Math.max(dimension.used / dimension.limit, dimension.measured ?? 0);
  // The bar and its figure say the same, also where only the providers know.
  const used = amount(dimension.unit === "percent" ? part * 100 : dimension.used, dimension.limit, dimension);
  return (
    <div className="min-w-0">
      <div className={columnsClass}>
        <h3 className="truncate font-medium">{label}</h3>
        <Meter part={part} tone={toneOf(part, dimension.strict)} label={words.meter(label, pool)} text={used} />
        <span className="text-right text-ink-soft">{used}</span>
      </div>
      <p className="text-ink-faint text-xs">
        {dimension.strict ? words.strict : words.generous}
        {dimension.measured !== null && ` ${words.measured(format.percent(dimension.measured))}`}
      </p>
      <ul className="mt-2 flex flex-col gap-1.5">
        {keys.map((key) => (
          <KeyRow
            key={key.apiKeyId ?? ""}
            state={key}
            dimension={dimension}
            index={index}
            label={label}
            withStanding={index === 0}
          />
        ))}
      </ul>
      {keys.length === 0 && <p className="mt-1 text-ink-faint">{words.nobodyYet}</p>}
    </div>
  );
}

type KeyRowProps = {
  state: QuotaKeyState;
  dimension: QuotaDimensionState;
  index: number;
  label: string;
  withStanding: boolean;
};

function KeyRow({ state, dimension, index, label, withStanding }: KeyRowProps) {
  const words = useMessages().pools;
  const amount = useAmount();
  const { used, share } = state.uses[index] ?? { used: 0, share: 0 };
  const name = state.name ?? (state.apiKeyId === null ? words.withoutKey : words.goneKey);
  const text = amount(used, share, dimension);
  const part = share > 0 ? used / share : null;
  return (
    <li className={columnsClass}>
      <span className="min-w-0 pl-3">
        <span className="block truncate" title={name}>
          {name}
        </span>
        {withStanding && <Standing state={state} />}
      </span>
      <Meter part={part} tone={toneOfKey(part ?? 0, dimension.strict)} label={words.meter(label, name)} text={text} />
      <span className="text-right text-ink-soft">{text}</span>
    </li>
  );
}

const signs = { allowed: "ready", lowered: "degraded", refused: "blocked" } as const;

function Standing({ state: { standing, until } }: { state: QuotaKeyState }) {
  const words = useMessages().pools;
  const format = useFormat();
  const now = useNow();
  if (until === null)
    return <StatusBadge state={signs[standing]} word={words.standings[standing]} className="text-xs" />;
  const instant = Date.parse(until);
  const { form, text } = format.until(instant, now);
  return (
    <StatusBadge
      state={signs[standing]}
      word={`${words.standings[standing]}, ${words.again[form](text)}`}
      title={format.full(instant)}
      className="text-xs"
    />
  );
}

function Account({ account }: { account: QuotaAccountState }) {
  const words = useMessages().pools;
  const { connectionId, provider, name, saturated, inFlight, maxConcurrent } = account;
  return (
    <li className={columnsClass}>
      <Link
        to="/providers/$providerId/connections/$connectionId"
        params={{ providerId: provider, connectionId }}
        title={name}
        className="min-w-0 max-w-full justify-self-start truncate hover:underline"
      >
        {name}
      </Link>
      <StatusBadge
        state={saturated ? "blocked" : "ready"}
        word={saturated ? words.saturated : words.notSaturated}
        title={saturated ? words.saturatedHelp : words.notSaturatedHelp}
      />
      <span className="text-right text-ink-soft">{words.underWay(inFlight, maxConcurrent)}</span>
    </li>
  );
}

/** The names that go into an agent's settings; the form of them where no model is known. */
function ModelNames({ state: { pool, models, accounts } }: { state: QuotaPoolState }) {
  const messages = useMessages();
  const words = messages.pools;
  const provider = accounts[0]?.provider;
  const names = models.length > 0 ? models : provider ? [`qtSd/${pool.slug}/${provider}/…`] : [];
  if (names.length === 0) return null;
  return (
    <details className="group">
      <summary className="-ml-1.5 flex w-fit cursor-default list-none items-center gap-1 rounded-md px-1.5 py-0.5 text-ink-soft hover:bg-hover hover:text-ink">
        <ChevronRight
          aria-hidden
          className="size-4 text-ink-faint transition-transform duration-100 group-open:rotate-90"
        />
        {words.namesOf(names.length)} <code className="font-mono text-xs">{`qtSd/${pool.slug}/…`}</code>
      </summary>
      <ul className="mt-1 max-h-48 overflow-y-auto">
        {names.map((name) => (
          <li key={name} className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 select-text truncate font-mono text-xs" title={name}>
              {name}
            </code>
            {models.length > 0 && <CopyButton text={name} label={messages.common.copyOf(name)} className="size-6" />}
          </li>
        ))}
      </ul>
    </details>
  );
}

function toneOf(part: number, strict: boolean): MeterTone {
  if (part >= 1) return "blocked";
  return strict ? "degraded" : "ready";
}

/** While there is plenty for everyone, more than one's share costs nothing yet. */
function toneOfKey(part: number, strict: boolean): MeterTone {
  if (part < 1) return "ready";
  return strict ? "blocked" : "degraded";
}

/** Writes so much of so much in the unit of a limit: `420 of 1,500 requests`. */
function useAmount() {
  const words = useMessages().pools;
  const format = useFormat();
  return (used: number, all: number, { unit }: Pick<QuotaDimensionState, "unit">): string => {
    const write: Record<QuotaDimensionState["unit"], (value: number) => string> = {
      percent: (value) => format.percent(value / 100),
      requests: (value) => format.number(value),
      tokens: (value) => format.compact(value),
      usd: format.dollars,
    };
    const text = all > 0 ? words.usedOf(write[unit](used), write[unit](all)) : write[unit](used);
    return unit === "requests" || unit === "tokens" ? words.amounts[unit](text) : text;
  };
}
