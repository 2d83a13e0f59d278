/** Whose errors a rule reads: providers in use first, then all others, or any id that is typed. */
import type { FieldControl } from "@/components/Field";
import { SearchPicker } from "@/components/SearchPicker";
import { useProviderNames } from "@/components/use-provider-names";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

type ProviderChoiceProps = {
  control: FieldControl;
  value: string;
  /** Those with a connection. */
  inUse: readonly string[];
  onChange(provider: string): void;
};

export function ProviderChoice({ control, value, inUse, onChange }: ProviderChoiceProps) {
  const messages = useMessages();
  const words = messages.rules;
  const nameOf = useProviderNames();
  const catalog = useRead("catalog_providers", null);
  const known = catalog.data?.providers.map(({ id }) => id) ?? [];
  const byName = (ids: readonly string[]) => [...ids].sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  const item = (group: string) => (id: string) => ({
    value: id,
    text: `${nameOf(id)} ${id}`,
    group,
    shown: <Provider id={id} name={nameOf(id)} />,
  });
  return (
    <SearchPicker
      control={control}
      chosen={value ? <Provider id={value} name={nameOf(value)} /> : null}
      title={value}
      items={[
        ...byName(inUse).map(item(words.inUse)),
        ...byName(known.filter((id) => !inUse.includes(id))).map(item(words.others)),
      ]}
      onChange={onChange}
      words={{
        pick: words.pickProvider,
        search: words.searchProvider,
        empty: words.noProvider,
        use: messages.models.use,
      }}
    />
  );
}

/** Its name, and the id that the setting has. */
function Provider({ id, name }: { id: string; name: string }) {
  if (name === id) return <span className="truncate font-mono">{id}</span>;
  return (
    <span className="truncate">
      {name} <span className="ml-1 font-mono text-ink-faint">{id}</span>
    </span>
  );
}
