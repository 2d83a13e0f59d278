import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Node } from "@/bindings";
import { NodeFields } from "@/components/NodeFields";
import { notify } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine, ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { Dialog } from "@/components/ui/dialog";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { draftOf, isComplete, toChange } from "@/lib/endpoint-draft";

const route = getRouteApi("/providers/$providerId/endpoint");
const FORM = "endpoint";

/** Address and format of a custom endpoint. */
export function EndpointPanel() {
  const messages = useMessages();
  const navigate = useNavigate();
  const { providerId } = route.useParams();
  const node = useRead("node_get", { id: providerId });
  const close = () => void navigate({ to: "/providers/$providerId", params: { providerId } });
  if (node.data) return <EndpointForm key={node.data.node.updatedAt} node={node.data.node} onClose={close} />;
  return (
    <SidePanel title={messages.providers.endpoint} onClose={close}>
      {node.isPending && <SkeletonRows rows={6} height={64} />}
      {node.error && <ErrorState error={node.error} onRetry={() => void node.refetch()} />}
    </SidePanel>
  );
}

function EndpointForm({ node, onClose }: { node: Node; onClose(): void }) {
  const messages = useMessages();
  const words = messages.nodes;
  const navigate = useNavigate();
  const [draft, setDraft] = useState(() => draftOf(node));
  const [confirming, setConfirming] = useState(false);
  const update = useChange("node_update");
  const remove = useChange("node_delete");
  const connections = useRead("connections_list", { provider: node.id });
  const inUse = (connections.data?.connections.length ?? 0) > 0;

  const save = (event: FormEvent) => {
    event.preventDefault();
    update.mutate(
      { id: node.id, ...toChange(draft) },
      {
        onSuccess: () => {
          notify.done(words.saved);
          onClose();
        },
      },
    );
  };
  const deleteNode = () =>
    remove.mutate(
      { id: node.id },
      {
        onSuccess: () => {
          notify.done(words.deleted(node.name));
          void navigate({ to: "/providers" });
        },
        onSettled: () => setConfirming(false),
      },
    );

  return (
    <SidePanel
      title={words.editTitle(node.name)}
      onClose={onClose}
      footer={
        <>
          <Button variant="primary" type="submit" form={FORM} disabled={!isComplete(draft) || update.isPending}>
            {words.save}
          </Button>
          <Button
            variant="danger"
            className="ml-auto"
            disabled={inUse}
            title={inUse ? words.deleteInUse : undefined}
            onClick={() => setConfirming(true)}
          >
            <Trash2 aria-hidden />
            {words.delete}
          </Button>
        </>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-4">
        <NodeFields fixed draft={draft} onChange={setDraft} refusal={update.error} />
        {update.error && update.error.details.length === 0 && <ErrorLine error={update.error} />}
        {remove.error && <ErrorLine error={remove.error} />}
      </form>
      <Dialog
        open={confirming}
        onOpenChange={setConfirming}
        title={words.deleteConfirm(node.name)}
        description={words.deleteConfirmHelp}
        footer={
          <>
            <Button onClick={() => setConfirming(false)}>{messages.common.cancel}</Button>
            <Button variant="danger" onClick={deleteNode} disabled={remove.isPending}>
              {words.delete}
            </Button>
          </>
        }
      />
    </SidePanel>
  );
}
