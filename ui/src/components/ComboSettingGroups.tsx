/** Every setting that combos share, in its groups: for all combos, or for those at one provider alone. */
import { useRouterState } from "@tanstack/react-router";
import type { Strategy } from "@/bindings";
import { useMessages } from "@/i18n";
import { type ComboLevel, FOR_ALL, nestingSettings, sharedSettings, valueAt } from "@/lib/combo-settings";
import { settingsOf, strategies } from "@/lib/strategies";
import { AutoWeights } from "./AutoWeights";
import { ComboSettings } from "./ComboSettings";
import { Section } from "./Field";
import { Fold } from "./Fold";
import type { SharedComboSettings } from "./use-shared-combo-settings";
import { WithContents } from "./WithContents";

type Editing = Omit<SharedComboSettings, "read"> & { level: Exclude<ComboLevel, "combo"> };

/** Those that read settings of their own. */
const withSettings = strategies.filter((strategy) => settingsOf(strategy).length > 0);

export function ComboSettingGroups(editing: Editing) {
  const words = useMessages().combos;
  return (
    <WithContents>
      <Section title={words.failures} help={words.failuresHelp}>
        <ComboSettings names={sharedSettings.failures} {...editing} />
      </Section>
      <Section title={words.fitness}>
        <ComboSettings names={sharedSettings.fitness} {...editing} />
      </Section>
      <Section title={words.defaults.conversations}>
        <ComboSettings names={["disableSessionStickiness"]} {...editing} />
      </Section>
      {editing.level === "all" && (
        // A combo that contains another is at no provider alone.
        <Section title={words.defaults.nesting}>
          <ComboSettings names={nestingSettings} {...editing} />
        </Section>
      )}
      <Section title={words.speed} help={words.speedHelp}>
        <ComboSettings names={sharedSettings.speed} {...editing} />
      </Section>
      {withSettings.map((strategy) => (
        <OfStrategy key={strategy} strategy={strategy} editing={editing} />
      ))}
    </WithContents>
  );
}

/** What only the combos of one strategy read: folded, unless something in it was chosen or is looked for. */
function OfStrategy({ strategy, editing }: { strategy: Strategy; editing: Editing }) {
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
      forced={editing.level === "all" && names.some((own) => hash === `${FOR_ALL}${own}`)}
    >
      {strategy === "auto" && <AutoWeights config={editing.config} onChange={editing.onChange} level={editing.level} />}
      <ComboSettings names={own} {...editing} />
    </Fold>
  );
}
