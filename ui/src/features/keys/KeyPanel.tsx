/** One key: what it may use, a new text for it, and its end. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { RefreshCw, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Key } from "@/bindings";
import { Confirm } from "@/components/Confirm";
import { KeyBadge } from "@/components/KeyBadge";
import { notify, useReportError } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine, ErrorState, Gone, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { now } from "@/lib/clock";
import { draftOf, fieldsOf, isComplete } from "@/lib/key-draft";
import { KeyForm } from "./KeyForm";
import { LimitUse } from "./LimitUse";
import { SecretDialog } from "./SecretDialog";

const route = getRouteApi("/settings/keys/$keyId");
const FORM = "edit-key";

export function KeyPanel() {
  const words = useMessages().keys;
  const navigate = useNavigate();
  const { keyId } = route.useParams();
  const keys = useRead("keys_list", null);
  const found = keys.data?.keys.find((key) => key.id === keyId);
  const close = () => void navigate({ to: "/settings/keys" });
  if (found) return <LoadedPanel key={keyId} apiKey={found} onClose={close} />;
  return (
    <SidePanel title={words.one} onClose={close}>
      {keys.isPending && <SkeletonRows rows={6} height={64} />}
      {keys.error && <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />}
      {keys.data && <Gone title={words.notFound} back={words.all} onBack={close} />}
    </SidePanel>
  );
}

function LoadedPanel({ apiKey, onClose }: { apiKey: Key; onClose(): void }) {
  const messages = useMessages();
  const words = messages.keys;
  const report = useReportError();
  const [fields, setFields] = useState(() => fieldsOf(apiKey));
  const [asking, setAsking] = useState<"rotate" | "delete" | null>(null);
  const update = useChange("key_update");
  const rotate = useChange("key_rotate");
  const remove = useChange("key_delete");
  const settled = () => setAsking(null);
  const placed = update.error?.code === "conflict" || (update.error?.details.length ?? 0) > 0;

  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete(fields)) return;
    update.mutate(
      { id: apiKey.id, ...draftOf(fields, now(), apiKey.expiresAt) },
      {
        onSuccess: ({ record }) => {
          notify.done(words.saved(record.name));
          onClose();
        },
      },
    );
  };
  const deleteKey = () => {
    // The panel goes first, so that it never stands there without its key.
    onClose();
    void remove.mutateAsync({ id: apiKey.id }).then(() => notify.done(words.deleted(apiKey.name)), report);
  };

  return (
    <SidePanel
      title={words.editTitle(apiKey.name)}
      subtitle={
        <span className="flex flex-wrap items-center gap-x-3">
          <KeyBadge apiKey={apiKey} />
          <code className="font-mono text-ink-faint">…{apiKey.tail}</code>
        </span>
      }
      onClose={onClose}
      footer={
        <>
          <Button variant="primary" type="submit" form={FORM} disabled={!isComplete(fields) || update.isPending}>
            {words.save}
          </Button>
          <Button className="ml-auto" onClick={() => setAsking("rotate")}>
            <RefreshCw aria-hidden />
            {words.rotate}
          </Button>
          <Button variant="danger" onClick={() => setAsking("delete")}>
            <Trash2 aria-hidden />
            {words.delete}
          </Button>
        </>
      }
    >
      <LimitUse apiKey={apiKey} />
      <form id={FORM} onSubmit={save} className="flex flex-col gap-6">
        <KeyForm fields={fields} onChange={setFields} refusal={update.error} />
        {update.error && !placed && <ErrorLine error={update.error} />}
      </form>
      <Confirm
        open={asking === "rotate"}
        title={words.rotateTitle(apiKey.name)}
        help={words.rotateHelp}
        action={words.rotate}
        isPending={rotate.isPending}
        onCancel={settled}
        onConfirm={() => rotate.mutate({ id: apiKey.id }, { onError: report, onSettled: settled })}
      />
      <Confirm
        open={asking === "delete"}
        title={words.deleteTitle(apiKey.name)}
        help={words.deleteHelp}
        action={words.delete}
        isPending={remove.isPending}
        onCancel={settled}
        onConfirm={deleteKey}
      />
      <SecretDialog
        title={words.rotatedTitle(apiKey.name)}
        secret={rotate.data?.key ?? null}
        onDone={() => rotate.reset()}
      />
    </SidePanel>
  );
}
