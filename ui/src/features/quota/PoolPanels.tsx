/** A pool: made, changed, removed. */
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { QuotaPool } from "@/bindings";
import { Confirm } from "@/components/Confirm";
import { notify, useReportError } from "@/components/notify";
import { SidePanel } from "@/components/SidePanel";
import { ErrorLine, ErrorState, Gone, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import type { HostError } from "@/host";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { draftOf, fieldsOf, isComplete, noPool } from "@/lib/pool-draft";
import { PoolForm } from "./PoolForm";

const route = getRouteApi("/monitoring/quota/pools/$poolId");
const FORM = "quota-pool";

export function AddPoolPanel() {
  const words = useMessages().pools;
  const close = useClose();
  const [fields, setFields] = useState(noPool);
  const create = useChange("quota_pool_create");
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete(fields)) return;
    create.mutate(draftOf(fields), {
      onSuccess: ({ pool }) => {
        notify.done(words.saved(pool.name));
        close();
      },
    });
  };
  return (
    <SidePanel
      wide
      title={words.addTitle}
      onClose={close}
      footer={
        <Button variant="primary" type="submit" form={FORM} disabled={!isComplete(fields) || create.isPending}>
          {words.create}
        </Button>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-6">
        <PoolForm fields={fields} onChange={setFields} refusal={create.error} />
        <Unplaced error={create.error} />
      </form>
    </SidePanel>
  );
}

export function PoolPanel() {
  const words = useMessages().pools;
  const close = useClose();
  const { poolId } = route.useParams();
  const pools = useRead("quota_pools_list", null);
  const found = pools.data?.pools.find(({ id }) => id === poolId);
  if (found) return <LoadedPanel key={poolId} pool={found} onClose={close} />;
  return (
    <SidePanel wide title={words.one} onClose={close}>
      {pools.isPending && <SkeletonRows rows={6} height={64} />}
      {pools.error && <ErrorState error={pools.error} onRetry={() => void pools.refetch()} />}
      {pools.data && <Gone title={words.notFound} back={words.all} onBack={close} />}
    </SidePanel>
  );
}

function LoadedPanel({ pool, onClose }: { pool: QuotaPool; onClose(): void }) {
  const words = useMessages().pools;
  const report = useReportError();
  const [fields, setFields] = useState(() => fieldsOf(pool));
  const [asking, setAsking] = useState(false);
  const update = useChange("quota_pool_update");
  const remove = useChange("quota_pool_delete");
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!isComplete(fields)) return;
    update.mutate(
      { id: pool.id, ...draftOf(fields) },
      {
        onSuccess: (reply) => {
          notify.done(words.saved(reply.pool.name));
          onClose();
        },
      },
    );
  };
  const deletePool = () => {
    // The panel goes first, so that it never stands there without its pool.
    onClose();
    void remove.mutateAsync({ id: pool.id }).then(() => notify.done(words.deleted(pool.name)), report);
  };
  return (
    <SidePanel
      wide
      title={words.editTitle(pool.name)}
      onClose={onClose}
      footer={
        <>
          <Button variant="primary" type="submit" form={FORM} disabled={!isComplete(fields) || update.isPending}>
            {words.save}
          </Button>
          <Button variant="danger" className="ml-auto" onClick={() => setAsking(true)}>
            <Trash2 aria-hidden />
            {words.delete}
          </Button>
        </>
      }
    >
      <form id={FORM} onSubmit={save} className="flex flex-col gap-6">
        <PoolForm fields={fields} onChange={setFields} refusal={update.error} />
        <Unplaced error={update.error} />
      </form>
      <Confirm
        open={asking}
        title={words.deleteTitle(pool.name)}
        help={words.deleteHelp}
        action={words.delete}
        isPending={remove.isPending}
        onCancel={() => setAsking(false)}
        onConfirm={deletePool}
      />
    </SidePanel>
  );
}

/** What no field of the form shows. */
function Unplaced({ error }: { error: HostError | null }) {
  if (!error || error.code === "conflict" || error.details.length > 0) return null;
  return <ErrorLine error={error} />;
}

function useClose() {
  const navigate = useNavigate();
  return () => void navigate({ to: "/monitoring/quota/pools" });
}
