/** Asks every target of a combo for an answer, and shows who gave one. The health of nobody changes. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { FlaskConical } from "lucide-react";
import { useState } from "react";
import type { ComboTestResult } from "@/bindings";
import { Field } from "@/components/Field";
import { probeWords } from "@/components/ProbeResult";
import { SidePanel } from "@/components/SidePanel";
import { StateSign } from "@/components/StateSign";
import { ErrorLine, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { TextArea } from "@/components/ui/input";
import { useProviderNames } from "@/components/use-provider-names";
import { WithIds } from "@/components/WithIds";
import { useChange, useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";

const route = getRouteApi("/combos/$comboId/test");

export function ComboTestPanel() {
  const words = useMessages().comboUse.test;
  const navigate = useNavigate();
  const { comboId } = route.useParams();
  const combo = useRead("combo_get", { id: comboId }).data?.combo;
  const [prompt, setPrompt] = useState("");
  const test = useChange("combo_test");
  const said = prompt.trim();

  return (
    <SidePanel
      title={<WithIds text={words.title(combo?.name ?? "…")} ids={combo ? [combo.name] : []} />}
      subtitle={words.unsaved}
      onClose={() => void navigate({ to: "/combos/$comboId", params: { comboId } })}
      footer={
        <Button
          variant="primary"
          data-autofocus
          disabled={test.isPending}
          onClick={() => test.mutate({ id: comboId, ...(said && { prompt: said }) })}
        >
          <FlaskConical aria-hidden />
          {test.data ? words.runAgain : words.run}
        </Button>
      }
    >
      <div className="flex flex-col gap-5">
        <p className="text-ink-soft">{words.help}</p>
        <Field label={words.prompt} help={words.promptHelp} optional>
          {(control) => (
            <TextArea {...control} rows={2} value={prompt} onChange={(event) => setPrompt(event.target.value)} />
          )}
        </Field>
        {test.error && <ErrorLine error={test.error} />}
        <div role="status">
          {test.isPending ? (
            <p className="flex items-center gap-2 text-probing">
              <StateSign state="probing" />
              {words.running}
            </p>
          ) : (
            test.data && <Outcome results={test.data.results} />
          )}
        </div>
        {test.isPending && <SkeletonRows rows={combo?.models.length ?? 2} height={48} />}
        {!test.isPending && test.data && test.data.results.length > 0 && <Results results={test.data.results} />}
      </div>
    </SidePanel>
  );
}

function Outcome({ results }: { results: readonly ComboTestResult[] }) {
  const words = useMessages().comboUse.test;
  if (results.length === 0) return <p className="text-ink-soft">{words.noTargets}</p>;
  return <p className="font-medium">{words.passed(results.filter(({ ok }) => ok).length, results.length)}</p>;
}

function Results({ results }: { results: readonly ComboTestResult[] }) {
  const words = useMessages().comboUse.test;
  return (
    <ol aria-label={words.results} className="-mt-3 animate-appear border-t">
      {results.map((result) => (
        <ResultRow key={`${result.executionKey} ${result.connectionId}`} result={result} />
      ))}
    </ol>
  );
}

function ResultRow({ result }: { result: ComboTestResult }) {
  const messages = useMessages();
  const words = messages.comboUse.test;
  const format = useFormat();
  const providerName = useProviderNames();
  const connections = useRead("connections_list", {});
  const connection = connections.data?.connections.find(({ id }) => id === result.connectionId);
  const { title, help } = probeWords(result.error, messages);
  return (
    <li className="grid grid-cols-[12px_minmax(0,1fr)] gap-x-2.5 border-b py-2.5 last:border-b-0">
      <StateSign state={result.ok ? "ready" : "blocked"} className="mt-1" />
      <div className="min-w-0">
        <p className="flex min-w-0 items-baseline justify-between gap-3">
          <code className="min-w-0 truncate font-mono" title={result.model}>
            {result.model}
          </code>
          {result.ok && <span className="shrink-0 text-ready">{words.took(format.duration(result.latencyMs))}</span>}
        </p>
        <p className="text-ink-faint text-xs">
          {[connection?.name, providerName(result.provider)].filter(Boolean).join(" · ")}
        </p>
        {!result.ok && (
          <div className="mt-1">
            <p className="text-blocked">{title}</p>
            {/* What to do about a key that is at its limit is said where one adds the key. */}
            {result.error?.code !== "rate_limited" && <p className="text-ink-soft text-xs">{help}</p>}
            {result.error && result.error.code !== "no_connection" && (
              <p className="mt-1 select-text break-words font-mono text-ink-soft text-xs">
                {result.status !== null && `${messages.probe.status(result.status)} · `}
                {result.error.message}
              </p>
            )}
          </div>
        )}
      </div>
    </li>
  );
}
