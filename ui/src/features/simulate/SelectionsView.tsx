/** Who is asked first, over many requests in a row: what a strategy comes to. */
import { FlaskConical } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { SelectedTarget, SelectionsMade } from "@/bindings";
import { Field } from "@/components/Field";
import { ModelPicker } from "@/components/ModelPicker";
import { StateSign } from "@/components/StateSign";
import { ErrorState } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Input } from "@/components/ui/input";
import { useNames } from "@/components/use-names";
import { useProviderNames } from "@/components/use-provider-names";
import { useChange, useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { readSeed, SeedField, SeedUsed } from "./SeedField";

const MOST_RUNS = 10_000;
const USUAL_RUNS = "1000";

type SelectionsViewProps = { name: string; onName(name: string): void };

export function SelectionsView({ name, onName }: SelectionsViewProps) {
  const words = useMessages().simulate;
  const names = useNames();
  const run = useChange("routing_simulate");
  const [runs, setRuns] = useState(USUAL_RUNS);
  const [seed, setSeed] = useState("");
  const count = Number(runs);
  const isCount = Number.isInteger(count) && count >= 1 && count <= MOST_RUNS;
  const wanted = readSeed(seed);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!name || !isCount || wanted === null) return;
    run.mutate({ mode: "selections", model: name, runs: count, ...(wanted !== undefined && { seed: wanted }) });
  };
  const outcome = run.data && "histogram" in run.data ? run.data : null;

  return (
    <>
      <form onSubmit={submit} className="mt-5 border-b pb-6">
        <div className="flex flex-wrap items-start gap-4">
          <Field label={words.model} help={words.modelHelp} className="w-64">
            {(control) => (
              <ModelPicker
                control={control}
                value={name}
                models={[...names.combos, ...names.aliases, ...names.models]}
                onChange={(chosen) => {
                  run.reset();
                  onName(chosen);
                }}
              />
            )}
          </Field>
          <Field
            label={words.runs}
            help={words.runsHelp}
            error={isCount ? undefined : words.runsRange}
            className="w-36"
          >
            {(control) => (
              <Input {...control} inputMode="numeric" value={runs} onChange={(event) => setRuns(event.target.value)} />
            )}
          </Field>
          <SeedField value={seed} onChange={setSeed} />
        </div>
        <Button
          variant="primary"
          type="submit"
          disabled={!name || !isCount || wanted === null || run.isPending}
          className="mt-5"
        >
          <FlaskConical aria-hidden />
          {run.isPending ? words.running : words.run}
        </Button>
      </form>
      {!outcome && !run.error && (
        <p className="py-6 text-ink-soft">{name ? words.selectionsReady : words.selectionsStart}</p>
      )}
      {run.error && <ErrorState error={run.error} />}
      {outcome && <Histogram outcome={outcome} onUseSeed={setSeed} />}
    </>
  );
}

function Histogram({ outcome, onUseSeed }: { outcome: SelectionsMade; onUseSeed(seed: string): void }) {
  const words = useMessages().simulate;
  const format = useFormat();
  const { runs, seed, exhausted } = outcome;
  const ranked = [...outcome.histogram].sort((a, b) => b.first - a.first);
  const most = Math.max(exhausted, ...ranked.map(({ first }) => first), 1);
  return (
    <section className="mt-6" aria-live="polite">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-3">
        <h2 className="font-semibold text-md">{words.selectionsTitle(format.number(runs))}</h2>
        <SeedUsed seed={seed} onUse={onUseSeed} />
      </div>
      {ranked.length === 0 && exhausted > 0 && <p className="pb-2 text-ink-soft">{words.nobodyAtAll}</p>}
      <ol aria-label={words.selectionsTitle(format.number(runs))}>
        {ranked.map((selection) => (
          <HistogramRow key={selection.executionKey} selection={selection} runs={runs} most={most} />
        ))}
        {exhausted > 0 && (
          <li className="flex min-h-12 items-center gap-4 py-1.5">
            <span className="flex w-[38%] shrink-0 items-center gap-2 text-blocked">
              <StateSign state="blocked" />
              {words.nobody}
            </span>
            <Bar part={exhausted / most} className="bg-blocked" />
            <Amount count={exhausted} runs={runs} />
          </li>
        )}
      </ol>
    </section>
  );
}

function HistogramRow({ selection, runs, most }: { selection: SelectedTarget; runs: number; most: number }) {
  const words = useMessages().simulate;
  const nameOf = useProviderNames();
  const connections = useRead("connections_list", {});
  const { provider, model, connectionId, first } = selection;
  const connection = connections.data?.connections.find(({ id }) => id === connectionId)?.name ?? connectionId;
  return (
    <li className="flex min-h-12 items-center gap-4 border-b py-1.5 last:border-b-0">
      <div className="w-[38%] min-w-0 shrink-0" title={selection.executionKey}>
        <div className="truncate font-mono">{model}</div>
        <div className="truncate text-ink-faint text-xs">
          {[connection ?? words.anyAccount, nameOf(provider)].join(" · ")}
        </div>
      </div>
      <Bar part={first / most} className="bg-accent" />
      <Amount count={first} runs={runs} />
    </li>
  );
}

function Bar({ part, className }: { part: number; className: string }) {
  return (
    <span aria-hidden className="h-2.5 min-w-0 flex-1">
      <span
        className={`block h-full rounded-sm ${className}`}
        style={{ width: part > 0 ? `max(2px, ${part * 100}%)` : 0 }}
      />
    </span>
  );
}

function Amount({ count, runs }: { count: number; runs: number }) {
  const words = useMessages().simulate;
  const format = useFormat();
  return (
    <span className="flex w-36 shrink-0 justify-end gap-3">
      <span className="font-medium">{format.percent(count / runs)}</span>
      <span className="w-20 whitespace-nowrap text-right text-ink-faint">{words.times(count)}</span>
    </span>
  );
}
