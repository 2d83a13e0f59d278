/** The last hours once more, with something changed: what the agents would have noticed of it. */
import { FlaskConical } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { RoutingChange, SettingField, Strategy, Value } from "@/bindings";
import { ComboSettings } from "@/components/ComboSettings";
import { Field, Section } from "@/components/Field";
import { EmptyState, ErrorState } from "@/components/States";
import { StrategyPicker } from "@/components/StrategyPicker";
import { Button } from "@/components/ui/button";
import { Select } from "@/components/ui/select";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import type { ComboConfig } from "@/lib/combo-draft";
import { treeOf } from "@/lib/setting-tree";
import { settingsOf } from "@/lib/strategies";
import { ReplayTable } from "./ReplayTable";
import { readSeed, SeedField } from "./SeedField";
import { SettingChanges } from "./SettingChanges";

const stretches = [1, 6, 24, 72, 168];
const USUAL_HOURS = 24;

type ReplayViewProps = {
  /** The one combo that is replayed; all requests where it is empty. */
  name: string;
  onName(name: string): void;
};

export function ReplayView({ name, onName }: ReplayViewProps) {
  const words = useMessages().simulate;
  const combos = useRead("combos_list", { includeHidden: true });
  const run = useChange("routing_simulate");
  const [hours, setHours] = useState(USUAL_HOURS);
  const [seed, setSeed] = useState("");
  const [strategy, setStrategy] = useState<Strategy | null>(null);
  const [config, setConfig] = useState<ComboConfig>({});
  const [settings, setSettings] = useState<ReadonlyMap<string, Value>>(new Map());
  const combo = combos.data?.combos.find((candidate) => candidate.name === name);
  const change = changeOf(combo ? strategy : null, combo ? config : {}, settings);
  const isChanged = Object.keys(change).length > 0;
  const wanted = readSeed(seed);
  const ready = isChanged && wanted !== null && !run.isPending;

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    run.mutate({
      mode: "replay",
      hours,
      change,
      ...(combo && { combo: combo.id }),
      ...(wanted !== undefined && { seed: wanted }),
    });
  };
  const outcome = run.data && "before" in run.data ? run.data : null;
  const own = combo ? settingsOf(strategy ?? combo.strategy, routerOf(config)) : [];

  return (
    <>
      <form onSubmit={submit}>
        <div className="mt-5 flex flex-wrap items-start gap-4">
          <Field label={words.hours} className="w-48">
            {(control) => (
              <Select
                {...control}
                value={String(hours)}
                options={stretches.map((stretch) => ({ value: String(stretch), label: words.lastHours(stretch) }))}
                onChange={(chosen) => setHours(Number(chosen))}
              />
            )}
          </Field>
          <Field label={words.combo} className="w-64">
            {(control) => (
              <Select
                {...control}
                value={combo ? name : ""}
                options={[
                  { value: "", label: words.allRequests },
                  ...(combos.data?.combos.map((one) => ({ value: one.name, label: words.onlyCombo(one.name) })) ?? []),
                ]}
                onChange={(chosen) => {
                  setConfig({});
                  onName(chosen);
                }}
              />
            )}
          </Field>
          <SeedField value={seed} onChange={setSeed} />
        </div>
        <div className="mt-8 max-w-[760px]">
          <Section title={words.change} help={words.changeHelp}>
            <div className="border-b py-3">
              <StrategyField
                enabled={combo !== undefined}
                value={combo ? strategy : null}
                onChange={(chosen) => {
                  setStrategy(chosen);
                  setConfig({});
                }}
              />
              {own.length > 0 && (
                <div className="mt-3 border-t">
                  <ComboSettings names={own} config={config} onChange={setConfig} />
                </div>
              )}
            </div>
            <SettingChanges changes={settings} onChange={setSettings} />
          </Section>
        </div>
        <div className="mt-5 flex flex-wrap items-center gap-4 border-b pb-6">
          <Button variant="primary" type="submit" disabled={!ready}>
            <FlaskConical aria-hidden />
            {run.isPending ? words.running : words.run}
          </Button>
          {!isChanged && <p className="text-ink-faint">{words.noChange}</p>}
        </div>
      </form>
      {run.error && <ErrorState error={run.error} />}
      {!outcome && !run.error && <p className="py-6 text-ink-soft">{words.replayStart}</p>}
      {outcome?.requests === 0 && <EmptyState title={words.emptyTitle} help={words.emptyHelp} />}
      {outcome && outcome.requests > 0 && <ReplayTable replay={outcome} onUseSeed={setSeed} />}
    </>
  );
}

type StrategyFieldProps = { enabled: boolean; value: Strategy | null; onChange(strategy: Strategy | null): void };

function StrategyField({ enabled, value, onChange }: StrategyFieldProps) {
  const messages = useMessages();
  const words = messages.simulate;
  const help = !enabled ? words.strategyNeedsCombo : value ? messages.combos.strategies[value].help : undefined;
  return (
    <Field label={messages.combos.strategy} help={help} className="max-w-80">
      {(control) => (
        <StrategyPicker
          control={control}
          value={value}
          none={words.strategyAsIs}
          disabled={!enabled}
          onChange={onChange}
        />
      )}
    </Field>
  );
}

function routerOf({ autoConfig }: ComboConfig): unknown {
  return typeof autoConfig === "object" && autoConfig !== null && !Array.isArray(autoConfig)
    ? autoConfig.routerStrategy
    : undefined;
}

/** Only what differs from how it was. */
function changeOf(
  strategy: Strategy | null,
  config: ComboConfig,
  settings: ReadonlyMap<SettingField["path"], Value>,
): RoutingChange {
  const combo = { ...(strategy && { strategy }), ...(Object.keys(config).length > 0 && { config }) };
  return {
    ...(Object.keys(combo).length > 0 && { combo }),
    ...(settings.size > 0 && { settings: treeOf(settings) }),
  };
}
