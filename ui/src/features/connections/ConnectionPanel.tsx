/** One connection: what state it is in and why, a test, and its settings, each saved as soon as it is left. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { FlaskConical, RotateCcw, Trash2 } from "lucide-react";
import type { CatalogProvider, Connection, ConnectionDetail } from "@/bindings";
import { notify, useReportError } from "@/components/notify";
import { ProbeResult } from "@/components/ProbeResult";
import { SidePanel } from "@/components/SidePanel";
import { ErrorState, SkeletonRows } from "@/components/States";
import { ConnectionBadge } from "@/components/StatusBadge";
import { RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { WhyNot } from "@/components/WhyNot";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { connectionState } from "@/lib/connection-state";
import { useNow } from "@/lib/use-now";
import { ConnectionSettings } from "./ConnectionSettings";

const route = getRouteApi("/providers/$providerId/connections/$connectionId");

export function ConnectionPanel() {
  const messages = useMessages();
  const navigate = useNavigate();
  const { providerId, connectionId } = route.useParams();
  const detail = useRead("connection_get", { id: connectionId });
  const catalog = useRead("catalog_providers", null);
  const provider = catalog.data?.providers.find((candidate) => candidate.id === providerId);
  const close = () => void navigate({ to: "/providers/$providerId", params: { providerId } });

  if (detail.data) {
    return <LoadedPanel key={connectionId} detail={detail.data} provider={provider} onClose={close} />;
  }
  return (
    <SidePanel title={detail.error?.code === "not_found" ? messages.connections.notFound : "…"} onClose={close}>
      {detail.isPending && <SkeletonRows rows={6} height={64} />}
      {detail.error && <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />}
    </SidePanel>
  );
}

type LoadedPanelProps = { detail: ConnectionDetail; provider: CatalogProvider | undefined; onClose(): void };

function LoadedPanel({ detail, provider, onClose }: LoadedPanelProps) {
  const messages = useMessages();
  const words = messages.connections;
  const { connection } = detail;
  const test = useChange("connection_test");
  const remove = useDelete(connection, onClose);

  return (
    <SidePanel
      title={connection.name}
      subtitle={
        <span className="flex min-w-0 flex-wrap items-center gap-x-3">
          <ConnectionBadge connection={connection} testing={test.isPending} />
          <span className="text-ink-faint">
            {provider?.name ?? connection.provider}
            {detail.inFlight > 0 && ` · ${words.inFlight(detail.inFlight)}`}
          </span>
        </span>
      }
      onClose={onClose}
      footer={
        <>
          <Button variant="primary" disabled={test.isPending} onClick={() => test.mutate({ id: connection.id })}>
            <FlaskConical aria-hidden />
            {words.test}
          </Button>
          <Button variant="danger" className="ml-auto" onClick={remove}>
            <Trash2 aria-hidden />
            {words.delete}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-6">
        {(test.data || test.isPending) && <ProbeResult outcome={test.data} running={test.isPending} />}
        <Trouble connection={connection} />
        <ConnectionSettings connection={connection} provider={provider} />
        <Details connection={connection} />
      </div>
    </SidePanel>
  );
}

/** Closes the panel, deletes at once and offers the way back. */
function useDelete(connection: Connection, onDone: () => void): () => void {
  const messages = useMessages();
  const words = messages.connections;
  const report = useReportError();
  const remove = useChange("connection_delete");
  const restore = useChange("connection_restore");
  const { id, name } = connection;

  const undo = () => restore.mutateAsync({ id }).then(() => notify.done(words.restored(name)), report);
  const offerUndo = () => notify.undoable(words.deleted(name), { label: messages.common.undo, act: () => void undo() });
  return () => {
    onDone();
    void remove.mutateAsync({ id }).then(offerUndo, report);
  };
}

/** Why routing passes it by and what brings it back, or the last error of one still in use; nothing while all is well. */
function Trouble({ connection }: { connection: Connection }) {
  const messages = useMessages();
  const words = messages.connections;
  const now = useNow();
  const reset = useChange("connection_reset");
  const { state, word } = connectionState(connection, now);
  if (word === "off" || state === "ready") return null;
  const clear = (
    <Button
      size="sm"
      disabled={reset.isPending}
      onClick={() => reset.mutate({ id: connection.id }, { onSuccess: () => notify.done(words.resetDone) })}
    >
      <RotateCcw aria-hidden />
      {words.reset}
    </Button>
  );
  if (state === "degraded") {
    return (
      <section className="flex flex-col items-start gap-2.5 rounded-md bg-sunken px-3 py-2.5">
        <div>
          <h3 className="text-ink-faint">{words.lastError}</h3>
          <p className="select-text break-words">{connection.lastError}</p>
        </div>
        {clear}
      </section>
    );
  }
  return (
    <WhyNot
      mechanism={messages.state.technical[state]}
      reason={connection.lastError ?? messages.state[word]}
      until={state === "cooling" ? connection.rateLimitedUntil : null}
      action={state !== "blocked" && clear}
    />
  );
}

function Details({ connection }: { connection: Connection }) {
  const messages = useMessages();
  const words = messages.connections;
  return (
    <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1 border-t pt-4 text-xs">
      <dt className="text-ink-faint">{words.lastUsed}</dt>
      <dd>{connection.lastUsedAt ? <RelativeTime at={connection.lastUsedAt} /> : messages.common.never}</dd>
      <dt className="text-ink-faint">{words.created}</dt>
      <dd>
        <RelativeTime at={connection.createdAt} />
      </dd>
      <dt className="text-ink-faint">{words.id}</dt>
      <dd className="min-w-0 select-text truncate font-mono">{connection.id}</dd>
    </dl>
  );
}
