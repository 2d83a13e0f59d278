import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useMemo, useState } from "react";
import type { Alias } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { Section } from "@/components/Field";
import { FilterInput } from "@/components/FilterInput";
import { Screen } from "@/components/Screen";
import { SettingFields } from "@/components/SettingFields";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

const FILTER_ABOVE = 5;
const idOf = (alias: Alias) => alias.id;

/** The person's own names for models. */
export function NamesScreen() {
  const messages = useMessages();
  const words = messages.names;
  const navigate = useNavigate();
  const { nameId } = useParams({ strict: false });
  const aliases = useRead("aliases_list", null);
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const all = aliases.data?.aliases;
  const shown = useMemo(
    () => all?.filter(({ alias, target }) => [alias, target].some((text) => text.toLowerCase().includes(wanted))) ?? [],
    [all, wanted],
  );

  const columns: Column<Alias>[] = [
    {
      id: "name",
      header: words.columns.name,
      width: "minmax(140px, 1fr)",
      cell: ({ alias }) => (
        <code className="font-medium font-mono" title={alias}>
          {alias}
        </code>
      ),
    },
    {
      id: "target",
      header: words.columns.target,
      width: "minmax(200px, 2fr)",
      cell: ({ target }) => (
        <code className="font-mono text-ink-soft" title={target}>
          {target}
        </code>
      ),
    },
    {
      id: "created",
      header: words.columns.created,
      width: "112px",
      cell: ({ createdAt }) => <RelativeTime at={createdAt} className="text-ink-soft" />,
    },
  ];
  const addButton = (
    <Button variant="primary" onClick={() => void navigate({ to: "/settings/names/add" })}>
      <Plus aria-hidden />
      {words.add}
    </Button>
  );

  return (
    <>
      <Screen
        title={words.title}
        help={words.help}
        actions={
          all &&
          all.length > 0 && (
            <>
              {all.length > FILTER_ABOVE && (
                <FilterInput label={words.filter} value={filter} onChange={setFilter} className="w-52" />
              )}
              {addButton}
            </>
          )
        }
      >
        {aliases.isPending && <SkeletonRows rows={3} />}
        {aliases.error && <ErrorState error={aliases.error} onRetry={() => void aliases.refetch()} />}
        {all?.length === 0 && <EmptyState title={words.emptyTitle} help={words.emptyHelp} action={addButton} />}
        {shown.length > 0 && (
          <DataTable
            label={words.title}
            rows={shown}
            columns={columns}
            rowKey={idOf}
            openKey={nameId}
            onOpen={({ id }) => void navigate({ to: "/settings/names/$nameId", params: { nameId: id } })}
          />
        )}
        {all && all.length > 0 && shown.length === 0 && (
          <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>
        )}
        <div className="mt-10 max-w-[760px]">
          <Section title={messages.traffic.finding.title} help={messages.traffic.finding.help}>
            <SettingFields paths={["routing.defaultModel", "routing.providerOrder", "routing.modelPrefixMode"]} />
          </Section>
        </div>
      </Screen>
      <Outlet />
    </>
  );
}
