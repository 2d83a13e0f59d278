/** Models that rest on one account, each with its reason and its end. They leave the list by themselves. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { ModelCooldown } from "@/bindings";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { FilterInput } from "@/components/FilterInput";
import { notify, useReportError } from "@/components/notify";
import { Screen } from "@/components/Screen";
import { useSelection, useSelectionColumn } from "@/components/Selection";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { BackIn } from "@/components/Time";
import { Button, buttonClass } from "@/components/ui/button";
import { useProviderNames } from "@/components/use-provider-names";
import { useChange, useRead } from "@/host/queries";
import { useFormat, useMessages } from "@/i18n";
import { lockReason } from "@/lib/lock-reason";
import { useNow } from "@/lib/use-now";

const keyOf = ({ connectionId, model }: ModelCooldown) => `${connectionId} ${model}`;

export function ModelCooldownsScreen() {
  const messages = useMessages();
  const words = messages.modelCooldowns;
  const navigate = useNavigate();
  const [filter, setFilter] = useState("");
  const list = useRead("model_cooldowns_list", null);
  const nameOf = useProviderNames();
  const resting = useResting(list.data?.items);
  const wanted = filter.trim().toLowerCase();
  const shown = useMemo(
    () =>
      resting.filter((lock) =>
        [lock.model, lock.connectionName, lock.provider, nameOf(lock.provider)].some((text) =>
          text.toLowerCase().includes(wanted),
        ),
      ),
    [resting, wanted, nameOf],
  );
  const keys = useMemo(() => shown.map(keyOf), [shown]);
  const selection = useSelection(keys);
  const enable = useEnable();
  const columns = useColumns(selection, enable, nameOf);
  const chosen = shown.filter((lock) => selection.has(keyOf(lock)));

  return (
    <Screen
      title={words.title}
      help={words.help}
      actions={
        resting.length > 0 && (
          <>
            <FilterInput label={words.filter} value={filter} onChange={setFilter} className="w-52" />
            {chosen.length > 0 ? (
              <Button
                variant="primary"
                disabled={enable.busy}
                onClick={() => void enable.some(chosen).then(selection.clear)}
              >
                {words.enableSelected(chosen.length)}
              </Button>
            ) : (
              <EnableAll busy={enable.busy} onConfirm={enable.all} />
            )}
          </>
        )
      }
    >
      {list.isPending && <SkeletonRows rows={5} />}
      {list.error && <ErrorState error={list.error} onRetry={() => void list.refetch()} />}
      {list.data && resting.length === 0 && (
        <EmptyState
          title={words.emptyTitle}
          help={words.emptyHelp}
          action={
            <Link to="/settings/lockout" className={buttonClass()}>
              {words.lockoutSettings}
            </Link>
          }
        />
      )}
      {shown.length > 0 && (
        <DataTable
          label={words.title}
          rows={shown}
          columns={columns}
          rowKey={keyOf}
          glides
          onToggle={(lock) => selection.toggle(keyOf(lock))}
          onOpen={({ provider, connectionId }) =>
            void navigate({
              to: "/providers/$providerId/connections/$connectionId",
              params: { providerId: provider, connectionId },
            })
          }
        />
      )}
      {resting.length > 0 && shown.length === 0 && (
        <p className="py-6 text-ink-faint">{messages.common.noMatch(filter)}</p>
      )}
    </Screen>
  );
}

/** Those whose time is not over, the next to come back first. */
function useResting(items: readonly ModelCooldown[] | undefined): readonly ModelCooldown[] {
  const now = useNow();
  const sorted = useMemo(
    () => [...(items ?? [])].sort((a, b) => Date.parse(a.expiresAt) - Date.parse(b.expiresAt)),
    [items],
  );
  const gone = sorted.filter(({ expiresAt }) => Date.parse(expiresAt) <= now).length;
  return useMemo(() => sorted.slice(gone), [sorted, gone]);
}

function useEnable() {
  const words = useMessages().modelCooldowns;
  const report = useReportError();
  const { mutateAsync, isPending } = useChange("model_cooldowns_clear");
  return {
    busy: isPending,
    async some(locks: readonly ModelCooldown[]) {
      try {
        for (const { provider, connectionId, model } of locks) {
          await mutateAsync({ provider, connection: connectionId, model });
        }
        notify.done(words.enabled(locks.length));
      } catch (error) {
        report(error as never);
      }
    },
    all: (count: number) => mutateAsync({ all: true }).then(() => notify.done(words.enabled(count)), report),
  };
}

type Enable = ReturnType<typeof useEnable>;

function useColumns(
  selection: ReturnType<typeof useSelection>,
  enable: Enable,
  nameOf: (provider: string) => string,
): Column<ModelCooldown>[] {
  const messages = useMessages();
  const words = messages.modelCooldowns;
  const format = useFormat();
  const box = useSelectionColumn<ModelCooldown>({
    selection,
    keyOf,
    label: ({ model, connectionName }) => words.select(model, connectionName),
  });
  return [
    box,
    {
      id: "model",
      header: words.columns.model,
      width: "minmax(130px, 1.7fr)",
      cell: ({ model, scope }) => (
        <code
          className="font-medium font-mono"
          title={[model, scope in words.scopes && words.scopes[scope as keyof typeof words.scopes]]
            .filter(Boolean)
            .join("\n")}
        >
          {model}
        </code>
      ),
    },
    {
      id: "connection",
      header: words.columns.connection,
      width: "minmax(110px, 1.2fr)",
      cell: ({ connectionName }) => <span title={connectionName}>{connectionName}</span>,
    },
    {
      id: "provider",
      header: words.columns.provider,
      width: "minmax(90px, 0.8fr)",
      roomy: true,
      cell: ({ provider }) => (
        <span className="text-ink-soft" title={provider}>
          {nameOf(provider)}
        </span>
      ),
    },
    {
      id: "reason",
      header: words.columns.reason,
      width: "minmax(136px, 0.9fr)",
      cell: ({ reason }) => <span title={reason}>{lockReason(reason, messages)}</span>,
    },
    {
      id: "failures",
      header: words.columns.failures,
      width: "64px",
      align: "end",
      cell: ({ failureCount }) => <span className="text-ink-soft">{format.number(failureCount)}</span>,
    },
    {
      id: "back",
      header: words.columns.back,
      width: "116px",
      cell: ({ lockedAt, expiresAt, probeAt }) => (
        <BackIn
          until={Date.parse(expiresAt)}
          since={Date.parse(lockedAt)}
          title={[
            words.since(format.clockSeconds(Date.parse(lockedAt))),
            probeAt && words.probe(format.clock(Date.parse(probeAt))),
          ]
            .filter(Boolean)
            .join("\n")}
        />
      ),
    },
    {
      id: "enable",
      header: "",
      width: "76px",
      acts: true,
      cell: (lock, current) => (
        <Button
          size="sm"
          variant="ghost"
          tabIndex={current ? 0 : -1}
          aria-label={words.enableOne(lock.model, lock.connectionName)}
          disabled={enable.busy}
          onClick={() => void enable.some([lock])}
        >
          {words.enable}
        </Button>
      ),
    },
  ];
}

function EnableAll({ busy, onConfirm }: { busy: boolean; onConfirm(count: number): Promise<void> }) {
  const words = useMessages().modelCooldowns;
  const [asking, setAsking] = useState(false);
  const list = useRead("model_cooldowns_list", null);
  return (
    <>
      <Button onClick={() => setAsking(true)} disabled={busy}>
        {words.enableAll}
      </Button>
      <Confirm
        open={asking}
        title={words.enableAllTitle}
        help={words.enableAllHelp}
        action={words.enableAll}
        isPending={busy}
        onCancel={() => setAsking(false)}
        onConfirm={() => void onConfirm(list.data?.items.length ?? 0).finally(() => setAsking(false))}
      />
    </>
  );
}
