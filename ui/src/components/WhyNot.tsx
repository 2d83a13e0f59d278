import type { ReactNode } from "react";
import { useFormat, useMessages } from "@/i18n";
import { useNow } from "@/lib/use-now";
import { Cause, type Said } from "./Cause";
import { LongText } from "./LongText";
import { Countdown } from "./Time";
import { WithIds } from "./WithIds";

type WhyNotProps = {
  /** Name of what said no, in words. */
  mechanism: string;
  reason: string;
  /** What the provider said when it came to this. */
  cause?: Said | null;
  until: string | null;
  /** What ends it, where no instant does. */
  end?: string | undefined;
  /** Whom it is about, where several stand together. */
  about?: string;
  /** Names of models and combos in it. */
  ids?: readonly string[];
  /** What would bring it back. */
  action?: ReactNode;
};

/** An instant with what is left until it; one that lies behind is said to. */
function Until({ until, end }: { until: string | null; end: string }) {
  const words = useMessages().whyNot;
  const format = useFormat();
  const now = useNow();
  if (until === null) return end;
  const instant = Date.parse(until);
  if (instant <= now) return words.over(format.clockSeconds(instant));
  return (
    <>
      {format.clockSeconds(instant)}{" "}
      <span className="text-ink-faint">
        (<Countdown until={until} />)
      </span>
    </>
  );
}

/** Why something is left out: mechanism, reason, until when, and the action that helps. */
export function WhyNot({ mechanism, reason, cause = null, until, end, about, ids = [], action }: WhyNotProps) {
  const words = useMessages().whyNot;
  return (
    <section aria-label={about ? `${words.title}: ${about}` : words.title} className="rounded-md bg-sunken px-3 py-2.5">
      {about && (
        <h4 className="mb-1.5 break-words font-medium">
          <WithIds text={about} ids={ids} />
        </h4>
      )}
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
        <dt className="text-ink-faint">{words.mechanism}</dt>
        <dd className="min-w-0 break-words">{mechanism}</dd>
        <dt className="text-ink-faint">{words.reason}</dt>
        <dd className="min-w-0 select-text break-words">
          <LongText text={reason} />
          <Cause cause={cause} />
        </dd>
        <dt className="text-ink-faint">{words.until}</dt>
        <dd>
          <Until until={until} end={end ?? words.noEnd} />
        </dd>
      </dl>
      {action && <div className="mt-2.5 flex gap-2">{action}</div>}
    </section>
  );
}
