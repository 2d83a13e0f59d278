/** What a key has used of its limits: a bar each, and when it is empty again. */
import type { Key, KeyLimitLevel, KeyLimitUse } from "@/bindings";
import { Meter, type MeterTone } from "@/components/Meter";
import { Reset } from "@/components/Time";
import { type Messages, useFormat, useMessages } from "@/i18n";
import type { Format } from "@/lib/format";
import { limitsOf, nearestOf, shareOf } from "@/lib/key-limits";
import { useNow } from "@/lib/use-now";

const tones: Record<KeyLimitLevel, MeterTone> = { within: "ready", warning: "degraded", exceeded: "blocked" };

export function LimitUse({ apiKey }: { apiKey: Key }) {
  const messages = useMessages();
  const words = messages.keys;
  const format = useFormat();
  const now = useNow();
  const limits = limitsOf(apiKey, now);
  if (limits.length === 0) return null;
  const unpriced = Math.max(...limits.map((limit) => (limit.unit === "usd" ? limit.unpricedRequests : 0)));
  return (
    <section aria-label={words.used} className="mb-6 flex flex-col gap-3">
      <ul className="flex flex-col gap-3">
        {limits.map((limit) => {
          const label = labelOf(limit, messages);
          const text = textOf(limit, messages, format);
          return (
            <li key={`${limit.unit} ${label}`} className="flex flex-col gap-1">
              <p className="flex items-baseline justify-between gap-3">
                <span className="min-w-0 truncate font-medium" title={label}>
                  {label}
                </span>
                <span className="shrink-0 text-ink-soft">{text}</span>
              </p>
              <Meter label={label} part={shareOf(limit)} text={text} tone={tones[limit.level]} />
              <p className="flex justify-between gap-3 text-ink-faint text-xs">
                <span>{words.levels[limit.level]}</span>
                {Date.parse(limit.resetsAt) > now && <Reset at={limit.resetsAt} />}
              </p>
            </li>
          );
        })}
      </ul>
      {unpriced > 0 && <p className="text-ink-soft text-xs">{words.unpriced(unpriced)}</p>}
    </section>
  );
}

/** The limit that is nearest, as one small bar; all of them in the tooltip. */
export function NearestLimit({ apiKey }: { apiKey: Key }) {
  const messages = useMessages();
  const format = useFormat();
  const limits = limitsOf(apiKey, useNow());
  const nearest = nearestOf(limits);
  if (!nearest) return <span className="text-ink-faint">{messages.keys.noLimit}</span>;
  const all = limits.map((limit) => `${labelOf(limit, messages)}: ${textOf(limit, messages, format)}`);
  const percent = format.percent(shareOf(nearest));
  return (
    <span title={all.join("\n")} className="flex items-center gap-2">
      <Meter
        label={labelOf(nearest, messages)}
        part={shareOf(nearest)}
        text={percent}
        tone={tones[nearest.level]}
        className="min-w-8 flex-1"
      />
      <span className="w-10 shrink-0 text-right text-ink-soft">{percent}</span>
    </span>
  );
}

function labelOf({ unit, interval, scopeType, scopeValue }: KeyLimitUse, { keys: words }: Messages): string {
  if (unit === "usd") return words.budget[interval];
  return scopeType === "global"
    ? words.tokensPer[interval]
    : words.tokensOf(words.tokensPer[interval], scopeValue ?? "");
}

function textOf({ unit, used, limit }: KeyLimitUse, { keys: words }: Messages, format: Format): string {
  const write = unit === "usd" ? format.dollars : format.number;
  return words.usedOf(write(used), write(limit));
}
