/** What a request to the combo as it stands on screen would do now: who, in which order, why, and who not. */
import { useEffect, useId, useMemo, useRef, useState } from "react";
import type { ComboPreviewed, PreviewedRequest, PreviewedTarget, Strategy } from "@/bindings";
import { ErrorState, SkeletonRows } from "@/components/States";
import { Input } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { WithIds } from "@/components/WithIds";
import { useRead } from "@/host/queries";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { now } from "@/lib/clock";
import { cn } from "@/lib/cn";
import type { EditedCombo } from "@/lib/combo-draft";
import { useDraft, useSettled } from "@/lib/hooks";
import { drawsLots } from "@/lib/strategies";
import { useNow } from "@/lib/use-now";
import { LeftOut, Skipped } from "./PreviewLeftOut";
import { PreviewRanking } from "./PreviewRanking";
import { ProblemList } from "./ProblemList";

/** After the last change, before the gateway is asked again. */
const PAUSE_MS = 300;
const SECOND = 1_000;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What can be said here of the request that is looked ahead to. */
type Asked = { [Part in "tools" | "vision" | "inputTokens" | "outputTokens"]: NonNullable<PreviewedRequest[Part]> };
const usual: Asked = { tools: 0, vision: false, inputTokens: 1_000, outputTokens: 500 };

type PreviewProps = {
  draft: EditedCombo;
  /** The combo as the gateway has it, while the draft does not differ from it. */
  unchangedId: string | null;
  /** Beside the form it stays in sight while the form scrolls. */
  beside?: boolean;
};

export function Preview({ draft, unchangedId, beside = false }: PreviewProps) {
  const words = useMessages().combos.preview;
  const id = useId();
  const [request, setRequest] = useState(usual);
  return (
    <section
      aria-labelledby={id}
      className={cn(
        "min-w-0",
        // Beyond its edges by the width of a focus ring, which would be cut off otherwise.
        beside && "sticky top-18 -mx-1 max-h-[calc(100vh-88px)] overflow-y-auto px-1",
      )}
    >
      <h2 id={id} className="font-semibold text-md">
        {words.title}
      </h2>
      <p className="text-ink-faint text-xs">{words.help}</p>
      <RequestInputs request={request} onChange={setRequest} />
      {draft.models.length === 0 ? (
        <p className="pt-4 text-ink-soft">{words.empty}</p>
      ) : (
        <Outcome draft={draft} unchangedId={unchangedId} request={request} />
      )}
    </section>
  );
}

type RequestInputsProps = { request: Asked; onChange(request: Asked): void };

function RequestInputs({ request, onChange }: RequestInputsProps) {
  const words = useMessages().combos.preview;
  const id = useId();
  return (
    <div className="mt-3 grid max-w-[480px] grid-cols-[1fr_1fr_1fr_auto] gap-x-3 border-b pb-4">
      <Count label={words.tools} value={request.tools} onChange={(tools) => onChange({ ...request, tools })} />
      <Count
        label={words.inputTokens}
        value={request.inputTokens}
        onChange={(inputTokens) => onChange({ ...request, inputTokens })}
      />
      <Count
        label={words.outputTokens}
        value={request.outputTokens}
        onChange={(outputTokens) => onChange({ ...request, outputTokens })}
      />
      <span className="flex flex-col gap-0.5">
        <label htmlFor={id} className="text-ink-soft text-xs">
          {words.images}
        </label>
        <span className="flex h-8 items-center">
          <Switch id={id} checked={request.vision} onCheckedChange={(vision) => onChange({ ...request, vision })} />
        </span>
      </span>
    </div>
  );
}

function Count({ label, value, onChange }: { label: string; value: number; onChange(value: number): void }) {
  const id = useId();
  const [text, setText] = useDraft(String(value));
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <label htmlFor={id} className="truncate text-ink-soft text-xs">
        {label}
      </label>
      <Input
        id={id}
        inputMode="numeric"
        value={text}
        aria-invalid={readCount(text) === null}
        onChange={(event) => {
          setText(event.target.value);
          const count = readCount(event.target.value);
          if (count !== null) onChange(count);
        }}
        onBlur={() => setText(String(value))}
      />
    </span>
  );
}

const MOST = 100_000_000;

function readCount(text: string): number | null {
  const count = Number(text);
  return text.trim() !== "" && Number.isInteger(count) && count >= 0 && count <= MOST ? count : null;
}

type OutcomeProps = Pick<PreviewProps, "draft" | "unchangedId"> & { request: Asked };

function Outcome({ draft, unchangedId, request }: OutcomeProps) {
  const words = useMessages().combos;
  // A combo is looked at before it has a name.
  const named = useMemo(() => ({ ...draft, name: draft.name.trim() || words.newTitle }), [draft, words]);
  const query = useSettled(
    useMemo(() => ({ combo: unchangedId ?? named, request }), [unchangedId, named, request]),
    PAUSE_MS,
  );
  const read = useRead("combo_preview", query, { keepPrevious: true });
  useReadAgainAt(read.data, () => void read.refetch());
  if (read.isPending) return <SkeletonRows rows={4} height={56} />;
  if (read.error) {
    return read.error.details.length > 0 ? (
      <div className="pt-4">
        <ProblemList quiet title={words.preview.incomplete} problems={read.error.details} />
      </div>
    ) : (
      <ErrorState error={read.error} onRetry={() => void read.refetch()} />
    );
  }
  return (
    <div className={cn("transition-opacity duration-100", read.isPlaceholderData && "opacity-60")}>
      <Sentence preview={read.data} readAt={read.dataUpdatedAt} />
      <PreviewRanking strategy={read.data.strategy} targets={read.data.targets.filter(({ available }) => available)} />
      <LeftOut targets={read.data.targets.filter(({ available }) => !available)} />
      <Skipped skipped={read.data.skipped} />
    </div>
  );
}

/** What the end of a timer changes is read when it has come. */
function useReadAgainAt(preview: ComboPreviewed | undefined, read: () => void): void {
  const latest = useRef(read);
  latest.current = read;
  const ends = preview?.targets.flatMap(({ exclusion }) => (exclusion?.until ? [Date.parse(exclusion.until)] : []));
  const next = Math.min(...(ends ?? []).filter((end) => end > now()));
  useEffect(() => {
    if (!Number.isFinite(next)) return;
    // Longer than a timer can count, the screen will have been read again by then.
    const timer = setTimeout(() => latest.current(), Math.min(next - now() + SECOND, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  }, [next]);
}

function Sentence({ preview: { strategy, targets, answer }, readAt }: { preview: ComboPreviewed; readAt: number }) {
  const words = useMessages().combos.preview;
  const when = useWhen();
  const present = useNow();
  const open = targets.filter(({ available }) => available);
  const [first] = open;
  const ends = targets.flatMap(({ exclusion }) => (exclusion?.until ? [Date.parse(exclusion.until)] : []));
  return (
    <div className="pt-4" aria-live="polite">
      <p className="break-words font-medium">
        {first ? (
          <WithIds text={firstWords(strategy, first, open.length, words)} ids={[first.model]} />
        ) : ends.length > 0 ? (
          words.noneUntil(when(Math.min(...ends)))
        ) : (
          words.none
        )}
      </p>
      {open.length > 1 && drawsLots(strategy) && <p className="mt-1 text-ink-faint text-xs">{words.chance}</p>}
      {strategy === "auto" && isOutscored(open) && <p className="mt-1 text-ink-faint text-xs">{words.variety}</p>}
      {answer && !first && (
        <p className="mt-1 text-ink-soft" title={answer.code}>
          {answer.retryAfterSeconds === null
            ? words.answer(answer.status)
            : // An agent that asks is never told less than a second.
              words.answerUntil(
                answer.status,
                when(Math.max(present + SECOND, readAt + answer.retryAfterSeconds * SECOND)),
              )}
        </p>
      )}
    </div>
  );
}

/** The strategy let somebody else than the best one go first. */
function isOutscored([first, ...others]: readonly PreviewedTarget[]): boolean {
  if (first?.placed !== "strategy" || first.score === null) return false;
  const { score } = first;
  return others.some((other) => (other.score ?? 0) > score);
}

function firstWords(
  strategy: Strategy,
  first: PreviewedTarget,
  count: number,
  words: Messages["combos"]["preview"],
): string {
  if (strategy === "fusion") return words.together(count);
  if (strategy === "pipeline") return words.chain(count);
  return first.connectionName ? words.first(first.model, first.connectionName) : words.firstPlain(first.model);
}

/** “in 0:42”, “at 14:32”. */
function useWhen(): (instant: number) => string {
  const messages = useMessages();
  const format = useFormat();
  const present = useNow();
  return (instant) => {
    const { form, text } = format.until(instant, present);
    return messages.until[form](text);
  };
}
