/** What every combo does that says nothing else: the settings that each can have, once for all. */
import { Link, useRouterState } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import type { Strategy } from "@/bindings";
import { ComboSettings } from "@/components/ComboSettings";
import { Section } from "@/components/Field";
import { Screen } from "@/components/Screen";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useMessages } from "@/i18n";
import { FOR_ALL, nestingSettings, sharedSettings, valueAt } from "@/lib/combo-settings";
import { settingsOf, strategies } from "@/lib/strategies";
import { AutoWeights } from "./AutoWeights";
import { Fold } from "./Fold";
import { useComboDefaults } from "./use-combo-defaults";

/** Those that read settings of their own. */
const withSettings = strategies.filter((strategy) => settingsOf(strategy).length > 0);

export function ComboDefaultsScreen() {
  const words = useMessages().combos;
  const { read, ...editing } = useComboDefaults();
  const all = { ...editing, isForAll: true };
  return (
    <Screen
      before={
        <Link to="/combos" className="inline-flex items-center gap-1 text-ink-soft hover:text-ink">
          <ChevronLeft aria-hidden className="size-4" />
          {words.back}
        </Link>
      }
      title={words.defaults.title}
      help={words.defaults.help}
    >
      {read.isPending && <SkeletonRows rows={8} height={56} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {read.data && (
        <div className="max-w-[760px]">
          <Section title={words.failures} help={words.failuresHelp}>
            <ComboSettings names={sharedSettings.failures} {...all} />
          </Section>
          <Section title={words.fitness}>
            <ComboSettings names={sharedSettings.fitness} {...all} />
          </Section>
          <Section title={words.defaults.conversations}>
            <ComboSettings names={["disableSessionStickiness"]} {...all} />
          </Section>
          <Section title={words.defaults.nesting}>
            <ComboSettings names={nestingSettings} {...all} />
          </Section>
          <Section title={words.speed} help={words.speedHelp}>
            <ComboSettings names={sharedSettings.speed} {...all} />
          </Section>
          {withSettings.map((strategy) => (
            <OfStrategy key={strategy} strategy={strategy} editing={all} />
          ))}
        </div>
      )}
    </Screen>
  );
}

type OfStrategyProps = {
  strategy: Strategy;
  editing: Omit<ReturnType<typeof useComboDefaults>, "read"> & { isForAll: boolean };
};

/** What only the combos of one strategy read: folded, unless something in it was chosen or is looked for. */
function OfStrategy({ strategy, editing }: OfStrategyProps) {
  const words = useMessages().combos;
  const hash = useRouterState({ select: ({ location }) => location.hash });
  // A combo may follow promises although the default is another order.
  const own = settingsOf(strategy, "sla-aware");
  const names = strategy === "auto" ? ["autoConfig.modePack", ...own] : own;
  const chosen = names.filter((name) => valueAt(editing.config, name) !== undefined).length;
  const { name, help } = words.strategies[strategy];
  return (
    <Fold
      title={words.defaults.only(name)}
      note={chosen > 0 ? words.defaults.chosen(chosen) : undefined}
      help={help}
      startsOpen={chosen > 0}
      forced={names.some((own) => hash === `${FOR_ALL}${own}`)}
    >
      {strategy === "auto" && <AutoWeights config={editing.config} onChange={editing.onChange} isForAll />}
      <ComboSettings names={own} {...editing} />
    </Fold>
  );
}
