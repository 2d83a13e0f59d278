/** How the connections of a provider take turns: the strategy in one sentence, and only the numbers that it has. */
import { useId, useState } from "react";
import type { Connection } from "@/bindings";
import { FieldRow, Section } from "@/components/Field";
import { notify } from "@/components/notify";
import { SettingFields } from "@/components/SettingFields";
import { Input } from "@/components/ui/input";
import { Select } from "@/components/ui/select";
import { useSettings } from "@/components/use-settings";
import { useChange } from "@/host/queries";
import { useMessages } from "@/i18n";
import { accountStrategies, servesInARow, strategyOf, strategyPath, withStrategy } from "@/lib/account-strategies";
import { errorWords } from "@/lib/error-words";

export function AccountTurns({ providerId, connections }: { providerId: string; connections: readonly Connection[] }) {
  const words = useMessages().accounts;
  const id = useId();
  const settings = useSettings();
  const field = settings.read.data?.fields.find(({ path }) => path === strategyPath);
  if (!field) return null;
  const strategy = strategyOf(field, providerId);
  const error = settings.refused(strategyPath);
  return (
    <div className="mt-8 max-w-[760px]">
      <Section title={words.title} help={words.help}>
        <FieldRow
          htmlFor={id}
          helpId={`${id}-help`}
          label={words.strategy}
          help={
            <>
              {words.strategies[strategy].help}
              {error && <span className="block text-blocked">{error}</span>}
            </>
          }
        >
          <Select
            id={id}
            aria-describedby={`${id}-help`}
            className="w-52"
            disabled={settings.saving}
            value={strategy}
            options={accountStrategies.map((value) => ({ value, label: words.strategies[value].name }))}
            onChange={(chosen) => settings.save(field, withStrategy(field, providerId, chosen))}
          />
        </FieldRow>
        {servesInARow(strategy) && <SettingFields paths={["routing.stickyRoundRobinLimit"]} />}
        {strategy === "weighted" && <Weights connections={connections} />}
      </Section>
    </div>
  );
}

function Weights({ connections }: { connections: readonly Connection[] }) {
  const words = useMessages().accounts;
  return (
    <FieldRow tall label={words.weights} help={words.weightHelp}>
      <ul className="flex flex-col gap-1.5">
        {connections.map((connection) => (
          <Weight key={connection.id} connection={connection} />
        ))}
      </ul>
    </FieldRow>
  );
}

/** Saved when left; a text that is no weight stays marked and is not saved. */
function Weight({ connection }: { connection: Connection }) {
  const messages = useMessages();
  const words = messages.accounts;
  const stored = String(connection.providerSpecificData.weight ?? 1);
  const [typed, setTyped] = useState<string | null>(null);
  const update = useChange("connection_update");
  const wrong = typed !== null && !isWeight(typed);
  const save = () => {
    if (typed === null || wrong) return;
    setTyped(null);
    if (typed === stored) return;
    update.mutate(
      { id: connection.id, providerSpecificData: { weight: Number(typed) } },
      { onError: (error) => notify.failed(errorWords(error, messages).title) },
    );
  };
  return (
    <li className="flex items-center justify-end gap-2">
      <span className="min-w-0 max-w-40 truncate text-ink-soft" title={connection.name}>
        {connection.name}
      </span>
      <Input
        aria-label={words.weight(connection.name)}
        inputMode="numeric"
        className="w-16 text-right"
        aria-invalid={wrong || undefined}
        title={words.weightRange}
        value={typed ?? stored}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={save}
        onKeyDown={(event) => event.key === "Enter" && save()}
      />
    </li>
  );
}

function isWeight(text: string): boolean {
  return /^\d{1,3}$/.test(text.trim()) && Number(text) <= 100;
}
