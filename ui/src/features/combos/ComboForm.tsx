/** Everything that can be said about a combo, from what every combo needs to what few do. */
import { type ReactNode, useId } from "react";
import type { Combo, ComboWarning, FieldProblem } from "@/bindings";
import { AutoWeights } from "@/components/AutoWeights";
import { ComboSettings } from "@/components/ComboSettings";
import { Field, FieldRow, Section } from "@/components/Field";
import { Fold } from "@/components/Fold";
import { StrategyPicker } from "@/components/StrategyPicker";
import { Input, TextArea } from "@/components/ui/input";
import { Switch } from "@/components/ui/switch";
import { useMessages } from "@/i18n";
import { type EditedCombo, LONGEST_NAME } from "@/lib/combo-draft";
import { nestingSettings, onlyProvider, sharedSettings, valueAt } from "@/lib/combo-settings";
import { keptTiers } from "@/lib/combo-tiers";
import { keepsConversations, settingsOf } from "@/lib/strategies";
import { ComboRecord } from "./ComboRecord";
import { Patterns } from "./Patterns";
import { StepList } from "./StepList";
import { Tiers } from "./Tiers";
import { WarningHint } from "./WarningHint";

type ComboFormProps = {
  draft: EditedCombo;
  saved: Combo | null;
  warnings: readonly ComboWarning[];
  problems: readonly FieldProblem[];
  onEdit(part: Partial<EditedCombo>): void;
  /** Where the window has no room beside the form. */
  afterSteps?: ReactNode;
};

export function ComboForm({ draft, saved, warnings, problems, onEdit, afterSteps }: ComboFormProps) {
  const words = useMessages().combos;
  const problem = (field: string) => problems.find((candidate) => candidate.field === field)?.message;
  const config = {
    config: draft.config,
    onChange: (next: EditedCombo["config"]) => onEdit({ config: next }),
    problem,
    provider: onlyProvider(draft.models),
  };
  const own = ownSettings(draft);
  const shadows = warnings.filter(({ code }) => code === "COMBO_NAME_SHADOWS_MODEL" && draft.name === saved?.name);
  const ofSteps = warnings.filter(({ code }) => code !== "COMBO_NAME_SHADOWS_MODEL");

  return (
    <form className="min-w-0" onSubmit={(event) => event.preventDefault()}>
      <div className="grid grid-cols-2 gap-x-4">
        <Field label={words.name} help={words.nameHelp} error={problem("name")}>
          {(control) => (
            <Input
              {...control}
              mono
              value={draft.name}
              maxLength={LONGEST_NAME}
              autoFocus={saved === null}
              onChange={(event) => onEdit({ name: event.target.value })}
            />
          )}
        </Field>
        <Field label={words.strategy} help={words.strategies[draft.strategy]?.help} error={problem("strategy")}>
          {(control) => (
            <StrategyPicker
              control={control}
              value={draft.strategy}
              onChange={(strategy) => {
                if (strategy) onEdit({ strategy });
              }}
            />
          )}
        </Field>
      </div>
      {shadows.map((warning) => (
        <WarningHint key={`${warning.providerId}/${warning.modelId}`} warning={warning} />
      ))}

      <div className="mt-8">
        <StepList
          draft={draft}
          problems={problems}
          onEdit={(part) =>
            onEdit(part.models ? { ...part, compositeTiers: keptTiers(draft.compositeTiers, part.models) } : part)
          }
        />
        {ofSteps.map((warning) => (
          <WarningHint key={`${warning.code} ${warning.providerId}/${warning.modelId}`} warning={warning} />
        ))}
      </div>

      {hasTiers(draft) && <Tiers draft={draft} problems={problems} onEdit={onEdit} />}

      {refersToCombos(draft) && (
        <Section title={words.nesting}>
          <ComboSettings names={nestingSettings} {...config} />
        </Section>
      )}

      {afterSteps && <div className="mt-8">{afterSteps}</div>}

      {(own.length > 0 || draft.strategy === "auto") && (
        <Section title={words.strategySettings} help={words.strategies[draft.strategy].name}>
          {draft.strategy === "auto" && <AutoWeights {...config} />}
          <ComboSettings names={own} {...config} />
        </Section>
      )}

      <Section title={words.conversation}>
        <div className="py-3">
          <Field label={words.systemMessage} help={words.systemMessageHelp} error={problem("system_message")} optional>
            {(control) => (
              <TextArea
                {...control}
                rows={3}
                value={draft.system_message ?? ""}
                onChange={(event) => onEdit({ system_message: event.target.value || null })}
              />
            )}
          </Field>
        </div>
        <SwitchRow
          label={words.cacheProtection}
          help={words.cacheProtectionHelp}
          checked={draft.context_cache_protection}
          onChange={(context_cache_protection) => onEdit({ context_cache_protection })}
        />
        {keepsConversations(draft.strategy) && <ComboSettings names={["disableSessionStickiness"]} {...config} />}
        <SwitchRow
          label={words.listed}
          help={words.listedHelp}
          checked={!draft.isHidden}
          onChange={(shown) => onEdit({ isHidden: !shown })}
        />
        <SwitchRow
          label={words.active}
          help={words.activeHelp}
          checked={draft.isActive}
          onChange={(isActive) => onEdit({ isActive })}
        />
      </Section>

      {saved && <ComboRecord comboId={saved.id} />}
      {saved && <Patterns comboId={saved.id} />}

      <Shared draft={draft} problem={problem}>
        <Group title={words.failures} help={words.failuresHelp}>
          <ComboSettings names={sharedSettings.failures} {...config} />
        </Group>
        <Group title={words.fitness}>
          <ComboSettings names={sharedSettings.fitness} {...config} />
        </Group>
        <Group title={words.speed} help={words.speedHelp}>
          <ComboSettings names={speedSettings(draft)} {...config} />
        </Group>
      </Shared>
    </form>
  );
}

function ownSettings({ strategy, config }: EditedCombo): readonly string[] {
  return settingsOf(strategy, valueAt(config, "autoConfig.routerStrategy"));
}

function refersToCombos({ models }: EditedCombo): boolean {
  return models.some(({ kind }) => kind === "combo-ref");
}

/** Tiers put the steps of `priority` into another order; with a single step there is none. */
function hasTiers({ strategy, models, compositeTiers }: EditedCombo): boolean {
  return strategy === "priority" && (models.length > 1 || compositeTiers !== null);
}

/** What a switch governs is shown while it is on. */
function speedSettings({ config }: EditedCombo): readonly string[] {
  const [master, hedging, delay, late] = sharedSettings.speed;
  if (config[master] !== true) return [master];
  return config[hedging] === true ? [master, hedging, delay, late] : [master, hedging, late];
}

function sharedNames(draft: EditedCombo): readonly string[] {
  const { failures, fitness } = sharedSettings;
  return [...failures, ...fitness, ...speedSettings(draft)];
}

/** Whether the form has a place beside which it says what is wrong with a field. */
export function isPlaced(field: string, draft: EditedCombo): boolean {
  if (["name", "strategy", "models", "system_message"].includes(field) || field.startsWith("models[")) return true;
  if (field.startsWith("compositeTiers.")) return draft.compositeTiers !== null && hasTiers(draft);
  const inner = refersToCombos(draft) ? nestingSettings : [];
  const shown = [...ownSettings(draft), ...inner, ...sharedNames(draft), "disableSessionStickiness"];
  return shown.some((name) => field === `config.${name}`);
}

/** What most combos leave alone: folded, unless something in it was chosen or refused. */
function Shared(props: { draft: EditedCombo; problem(field: string): string | undefined; children: ReactNode }) {
  const { draft, problem, children } = props;
  const words = useMessages().combos;
  const names = sharedNames(draft);
  const chosen = names.filter((name) => valueAt(draft.config, name) !== undefined).length;
  return (
    <Fold
      title={words.showShared}
      note={chosen > 0 ? words.chosenHere(chosen) : undefined}
      help={words.sharedHelp}
      forced={names.some((name) => problem(`config.${name}`) !== undefined)}
    >
      {children}
    </Fold>
  );
}

function Group({ title, help, children }: { title: string; help?: string; children: ReactNode }) {
  return (
    <section className="mt-5">
      <h3 className="font-medium text-ink-soft">{title}</h3>
      {help && <p className="text-ink-faint text-xs">{help}</p>}
      <div className="mt-1 border-t">{children}</div>
    </section>
  );
}

type SwitchRowProps = { label: string; help: string; checked: boolean; onChange(checked: boolean): void };

function SwitchRow({ label, help, checked, onChange }: SwitchRowProps) {
  const id = useId();
  return (
    <FieldRow htmlFor={id} helpId={`${id}-help`} label={label} help={help}>
      <Switch id={id} aria-describedby={`${id}-help`} checked={checked} onCheckedChange={onChange} />
    </FieldRow>
  );
}
