import type { ExclusionCause } from "@/bindings";
import { LongText } from "./LongText";
import { RelativeTime } from "./Time";

/** What the provider said when it came to this. */
export function Cause({ cause }: { cause: ExclusionCause | null }) {
  if (!cause) return null;
  return (
    <div className="break-words text-ink-faint text-xs">
      {cause.status !== null && <span className="font-mono">{cause.status} </span>}
      <LongText text={cause.message} /> · <RelativeTime at={cause.at} />
    </div>
  );
}
