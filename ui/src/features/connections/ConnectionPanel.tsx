/** One connection: what state it is in and why, a test, and its settings, each saved as soon as it is left. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { FlaskConical, Trash2 } from "lucide-react";
import { useState } from "react";
import type { CatalogProvider, Connection, ConnectionDetail } from "@/bindings";
import { notify, useReportError } from "@/components/notify";
import { ProbeResult } from "@/components/ProbeResult";
import { SidePanel } from "@/components/SidePanel";
import { ErrorState, Gone, SkeletonRows } from "@/components/States";
import { ConnectionBadge } from "@/components/StatusBadge";
import { RelativeTime } from "@/components/Time";
import { Button } from "@/components/ui/button";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { ConnectionHealth } from "./ConnectionHealth";
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
  const gone = detail.error?.code === "not_found";

  if (detail.data) {
    return (
      <LoadedPanel
        key={connectionId}
        detail={detail.data}
        readAt={detail.dataUpdatedAt}
        provider={provider}
        onClose={close}
      />
    );
  }
  return (
    <SidePanel title={messages.connections.one} onClose={close}>
      {detail.isPending && <SkeletonRows rows={6} height={64} />}
      {gone && <Gone title={messages.connections.notFound} back={messages.connections.all} onBack={close} />}
      {detail.error && !gone && <ErrorState error={detail.error} onRetry={() => void detail.refetch()} />}
    </SidePanel>
  );
}

type LoadedPanelProps = {
  detail: ConnectionDetail;
  readAt: number;
  provider: CatalogProvider | undefined;
  onClose(): void;
};

function LoadedPanel({ detail, readAt, provider, onClose }: LoadedPanelProps) {
  const messages = useMessages();
  const words = messages.connections;
  const { connection } = detail;
  const test = useChange("connection_test");
  const remove = useDelete(connection, onClose);
  const [replacing, setReplacing] = useState(!connection.hasCredential && connection.authType !== "none");

  return (
    <SidePanel
      title={connection.name}
      subtitle={
        <span className="flex min-w-0 flex-wrap items-center gap-x-3">
          <ConnectionBadge
            connection={connection}
            testing={test.isPending}
            testFailed={test.data?.ok === false && !test.isPending}
          />
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
        <ConnectionHealth
          detail={detail}
          providerName={provider?.name ?? connection.provider}
          readAt={readAt}
          onReplaceKey={() => setReplacing(true)}
        />
        <ConnectionSettings
          connection={connection}
          provider={provider}
          replacing={replacing}
          onReplacing={setReplacing}
        />
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
