/** What a provider said lately: to start a rule from, and to see which of it the rule fits. */
import { Check } from "lucide-react";
import { ErrorLine, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { cn } from "@/lib/cn";
import { fits, type RecentError, type RuleDraft, recentErrors } from "@/lib/error-rules";
import { useSettled } from "@/lib/hooks";

const TYPING_MS = 300;
const LOOKED_AT = 100;

type RecentErrorsProps = { draft: RuleDraft; onPick(part: Pick<RuleDraft, "status" | "match">): void };

export function RecentErrors({ draft, onPick }: RecentErrorsProps) {
  const words = useMessages().rules.recent;
  const name = useProviderNames()(draft.provider);
  const connections = useRead("connections_list", { provider: draft.provider });
  const requests = useRead("requests_list", { provider: draft.provider, outcome: "failure", limit: LOOKED_AT });
  const errors = recentErrors(connections.data?.connections ?? [], requests.data?.requests ?? []);
  const fitting = errors.filter((error) => fits(draft, error)).length;
  // Said a moment after the typing, so that not every letter is.
  const told = useSettled(draft.match.trim() && errors.length > 0 ? words.fits(fitting, errors.length) : "", TYPING_MS);
  const failed = connections.error ?? requests.error;
  if (failed) return <ErrorLine error={failed} />;
  if (connections.isPending || requests.isPending) return <SkeletonRows rows={2} height={32} />;
  if (errors.length === 0) return <p className="text-ink-faint text-xs">{words.none(name)}</p>;
  return (
    <section aria-label={words.title(name)}>
      <div className="flex items-baseline justify-between gap-3 text-xs">
        <h3 className="min-w-0 font-medium text-ink-soft">{words.title(name)}</h3>
        <p aria-live="polite" className={cn("shrink-0", fitting > 0 ? "text-ink" : "text-ink-faint")}>
          {told || words.help}
        </p>
      </div>
      <ul className="-mx-2 mt-1">
        {errors.map((error) => (
          <li key={`${error.status} ${error.text}`}>
            <Line error={error} isFitting={fits(draft, error)} onPick={onPick} />
          </li>
        ))}
      </ul>
    </section>
  );
}

type LineProps = { error: RecentError; isFitting: boolean; onPick: RecentErrorsProps["onPick"] };

function Line({ error, isFitting, onPick }: LineProps) {
  const words = useMessages().rules.recent;
  const { status, text, at, connectionName } = error;
  return (
    <button
      type="button"
      title={connectionName ? `${text} · ${connectionName}` : text}
      onClick={() => onPick({ status: String(status), match: text })}
      className="grid h-8 w-full grid-cols-[28px_minmax(0,1fr)_16px_auto] items-center gap-x-2 rounded-md px-2 text-left text-xs hover:bg-hover"
    >
      <span className={isFitting ? "font-medium" : "text-ink-soft"}>{status}</span>{" "}
      <span className={cn("truncate font-mono", !isFitting && "text-ink-soft")}>{text}</span>{" "}
      <span>
        {isFitting && <Check aria-hidden className="size-4 text-ready" />}
        {isFitting && <span className="sr-only">{words.fitting}</span>}
      </span>{" "}
      <RelativeTime at={at} className="min-w-16 text-right text-ink-faint" />
    </button>
  );
}
