import { Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Alias } from "@/bindings";
import { type Column, DataTable } from "@/components/DataTable";
import { Section } from "@/components/Field";
import { ListScreen } from "@/components/ListScreen";
import { SettingFields } from "@/components/SettingFields";
import { RelativeTime } from "@/components/Time";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

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
      align: "end",
      cell: ({ createdAt }) => <RelativeTime at={createdAt} className="text-ink-soft" />,
    },
  ];
  return (
    <>
      <ListScreen
        title={words.title}
        help={words.help}
        read={aliases}
        count={all?.length}
        found={shown.length}
        filter={{ label: words.filter, value: filter, onChange: setFilter }}
        add={{ label: words.add, run: () => void navigate({ to: "/settings/names/add" }) }}
        empty={{ title: words.emptyTitle, help: words.emptyHelp }}
      >
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
        {!aliases.error && (
          <div className="mt-10 max-w-[760px]">
            <Section title={messages.traffic.finding.title} help={messages.traffic.finding.help}>
              <SettingFields paths={["routing.defaultModel", "routing.providerOrder", "routing.modelPrefixMode"]} />
            </Section>
          </div>
        )}
      </ListScreen>
      <Outlet />
    </>
  );
}
