import type { ProbeProblem } from "@/bindings";
import { type Messages, useFormat, useMessages } from "@/i18n";
import { LongText } from "./LongText";
import { StateSign } from "./StateSign";

export type ProbeOutcome = {
  readonly ok: boolean;
  readonly status: number | null;
  readonly latencyMs?: number;
  readonly error: ProbeProblem | null;
};

type ProbeCode = keyof Messages["probe"]["codes"];

/** What a test found: passed, or which of a dozen things went wrong and what to do about it. */
export function ProbeResult({ outcome, running = false }: { outcome: ProbeOutcome | undefined; running?: boolean }) {
  const messages = useMessages();
  return (
    <div role="status" className="min-w-0">
      {running ? (
        <p className="flex items-center gap-2 text-probing">
          <StateSign state="probing" />
          {messages.probe.running}
        </p>
      ) : (
        outcome && <Found outcome={outcome} />
      )}
    </div>
  );
}

function Found({ outcome }: { outcome: ProbeOutcome }) {
  const messages = useMessages();
  const format = useFormat();
  if (outcome.ok) {
    return (
      <p className="flex animate-appear items-center gap-2 text-ready">
        <StateSign state="ready" />
        {outcome.latencyMs === undefined
          ? messages.probe.okPlain
          : messages.probe.ok(format.duration(outcome.latencyMs))}
      </p>
    );
  }
  const { title, help } = probeWords(outcome.error, messages);
  return (
    <div className="flex animate-appear items-start gap-2 rounded-md bg-blocked-soft px-3 py-2.5">
      <StateSign state="blocked" className="mt-1" />
      <div className="min-w-0">
        <p className="font-medium text-blocked">{title}</p>
        <p className="text-ink-soft">{help}</p>
        {outcome.error?.message && (
          <div className="mt-1.5 break-words font-mono text-ink-soft text-xs">
            {outcome.status !== null && `${messages.probe.status(outcome.status)} · `}
            <LongText text={outcome.error.message} />
          </div>
        )}
      </div>
    </div>
  );
}

export function probeWords(error: ProbeProblem | null, messages: Messages): { title: string; help: string } {
  const { codes } = messages.probe;
  return error && error.code in codes ? codes[error.code as ProbeCode] : codes.other;
}
