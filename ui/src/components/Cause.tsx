import type { ExclusionCause } from "@/bindings";
import { LongText } from "./LongText";
import { RelativeTime } from "./Time";

/** What the provider said; when, where that is known. */
export type Said = Omit<ExclusionCause, "at"> & { readonly at: string | null };

/** What the provider said when it came to this. */
export function Cause({ cause }: { cause: Said | null }) {
  if (!cause) return null;
  return (
    <div className="break-words text-ink-faint text-xs">
      {cause.status !== null && <span className="font-mono">{cause.status} </span>}
      <LongText text={cause.message} />
      {cause.at && (
        <>
          {" "}
          · <RelativeTime at={cause.at} />
        </>
      )}
    </div>
  );
}
