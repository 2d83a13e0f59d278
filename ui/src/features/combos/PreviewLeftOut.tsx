/** Who would not be asked: held back by a mechanism, or a step that leads nowhere now. */

import type { PreviewedTarget, SkippedStep } from "@/bindings";
import { MechanismBadge, useReason } from "@/components/Exclusion";
import { useUntil } from "@/components/Time";
import { useProviderNames } from "@/components/use-provider-names";
import { useMessages } from "@/i18n";

export function LeftOut({ targets }: { targets: readonly PreviewedTarget[] }) {
  const words = useMessages().combos.preview;
  const reason = useReason();
  const back = useUntil();
  const nameOf = useProviderNames();
  if (targets.length === 0) return null;
  return (
    <section className="mt-5">
      <h3 className="border-b pb-1 font-medium text-ink-soft text-xs">{words.leftOut}</h3>
      <ul aria-label={words.leftOut}>
        {targets.map((target) => (
          <li key={target.executionKey} className="border-b py-2 last:border-b-0">
            <div className="truncate font-mono text-ink-soft" title={`${target.provider}/${target.model}`}>
              {target.model}
            </div>
            <div className="truncate text-ink-faint text-xs" title={target.executionKey}>
              {[target.connectionName ?? words.anyAccount, nameOf(target.provider)].join(" · ")}
            </div>
            {target.exclusion && (
              <>
                <div className="mt-1 flex items-baseline justify-between gap-3">
                  <MechanismBadge exclusion={target.exclusion} />
                  {target.exclusion.until && (
                    <span className="shrink-0 text-cooling">{back(Date.parse(target.exclusion.until))}</span>
                  )}
                </div>
                <p className="break-words text-ink-soft text-xs">{reason(target.exclusion.reason)}</p>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Skipped({ skipped }: { skipped: readonly SkippedStep[] }) {
  const words = useMessages().combos.preview;
  const reasons: Readonly<Record<string, string>> = words.skipReasons;
  if (skipped.length === 0) return null;
  return (
    <section className="mt-5">
      <h3 className="border-b pb-1 font-medium text-ink-soft text-xs">{words.skipped}</h3>
      <ul aria-label={words.skipped}>
        {skipped.map(({ step, what, reason }) => (
          <li key={`${step} ${what}`} className="flex items-baseline gap-3 py-1.5" title={reason}>
            <span className="min-w-0 flex-1 truncate font-mono text-ink-soft">{what}</span>
            <span className="shrink-0 text-ink-faint text-xs">{reasons[reason] ?? reason}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
