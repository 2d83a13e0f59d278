/** How a combo did lately: as a whole, and target by target. */
import type { ReactNode } from "react";
import type { ComboTargetMetric } from "@/bindings";
import { Section } from "@/components/Field";
import { RelativeTime } from "@/components/Time";
import { useProviderNames } from "@/components/use-provider-names";
import { useFormat, useMessages } from "@/i18n";
import { answeredPart } from "@/lib/usage";
import { useComboRecord } from "./use-combo-record";

export function ComboRecord({ comboId }: { comboId: string }) {
  const words = useMessages().comboUse.record;
  const format = useFormat();
  const record = useComboRecord()(comboId);
  if (!record) return null;
  const part = answeredPart(record);
  const unknown = "–";
  return (
    <Section title={words.title}>
      {record.requests === 0 ? (
        <p className="pt-3 text-ink-faint">{words.none}</p>
      ) : (
        <>
          <dl className="flex flex-wrap gap-x-8 gap-y-3 py-3">
            <Figure label={words.requests}>{format.number(record.requests)}</Figure>
            <Figure label={words.answered}>{part === null ? unknown : format.percent(part)}</Figure>
            <Figure label={words.half}>{record.p50Ms === null ? unknown : format.duration(record.p50Ms)}</Figure>
            <Figure label={words.most}>{record.p95Ms === null ? unknown : format.duration(record.p95Ms)}</Figure>
            <Figure label={words.lastUsed}>
              {record.lastUsedAt ? <RelativeTime at={record.lastUsedAt} /> : unknown}
            </Figure>
          </dl>
          {record.targets.length > 0 && (
            <ul aria-label={words.targets} className="border-t">
              {record.targets.map((target) => (
                <TargetRow key={target.executionKey} target={target} />
              ))}
            </ul>
          )}
        </>
      )}
    </Section>
  );
}

function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-ink-faint text-xs">{label}</dt>
      <dd className="text-md">{children}</dd>
    </div>
  );
}

function TargetRow({ target }: { target: ComboTargetMetric }) {
  const words = useMessages().comboUse.record;
  const format = useFormat();
  const providerName = useProviderNames();
  const part = answeredPart(target);
  return (
    <li className="grid min-h-10 grid-cols-[minmax(0,1fr)_96px_56px_72px] items-center gap-x-4 border-b last:border-b-0">
      <span className="flex min-w-0 items-baseline gap-2">
        <code className="truncate font-mono" title={target.model}>
          {target.model}
        </code>
        <span className="shrink-0 text-ink-faint text-xs">{providerName(target.provider)}</span>
      </span>
      <span className="text-right text-ink-soft">{words.ofTarget(target.requests)}</span>
      <span className="text-right text-ink-soft">{part === null ? "–" : format.percent(part)}</span>
      <span className="text-right text-ink-soft">{target.p50Ms === null ? "–" : format.duration(target.p50Ms)}</span>
    </li>
  );
}
