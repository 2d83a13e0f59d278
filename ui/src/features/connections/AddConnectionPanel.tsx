import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ConnectionForm } from "@/components/ConnectionForm";
import { notify } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";

const route = getRouteApi("/providers/$providerId/add");

export function AddConnectionPanel() {
  const messages = useMessages();
  const navigate = useNavigate();
  const { providerId } = route.useParams();
  const catalog = useRead("catalog_providers", null);
  const provider = catalog.data?.providers.find((candidate) => candidate.id === providerId);
  const close = () => void navigate({ to: "/providers/$providerId", params: { providerId } });

  return (
    <SidePanel
      title={messages.connections.addTitle(provider?.name ?? providerId)}
      subtitle={provider?.authType === "none" ? messages.setup.key.localHelp : messages.setup.key.help}
      onClose={close}
    >
      {catalog.isPending && <SkeletonRows rows={4} height={64} />}
      {catalog.error && <ErrorState error={catalog.error} onRetry={() => void catalog.refetch()} />}
      {provider && (
        <ConnectionForm
          provider={provider}
          onDone={(connection) => {
            notify.done(messages.setup.key.connected(connection.name));
            close();
          }}
        />
      )}
    </SidePanel>
  );
}
