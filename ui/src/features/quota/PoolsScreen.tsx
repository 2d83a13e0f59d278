/** Accounts that several keys share: who used how much, and how the accounts stand. */
import { Outlet, useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { Screen } from "@/components/Screen";
import { EmptyState, ErrorState, SkeletonRows } from "@/components/States";
import { Button } from "@/components/ui/button";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { Pool } from "./Pool";
import { QuotaTabs } from "./QuotaTabs";

export function PoolsScreen() {
  const messages = useMessages();
  const words = messages.pools;
  const navigate = useNavigate();
  const read = useRead("quota_pools_list", null);
  const pools = read.data?.pools ?? [];
  const addButton = (
    <Button variant="primary" onClick={() => void navigate({ to: "/monitoring/quota/pools/add" })}>
      <Plus aria-hidden />
      {words.add}
    </Button>
  );
  return (
    <>
      <Screen title={messages.quota.title} help={words.help} actions={pools.length > 0 && addButton}>
        <QuotaTabs />
        {read.isPending && <SkeletonRows rows={4} height={96} />}
        {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
        {read.data && pools.length === 0 && (
          <EmptyState title={words.emptyTitle} help={words.emptyHelp} action={addButton} />
        )}
        <div>
          {pools.map((pool) => (
            <Pool key={pool.id} pool={pool} />
          ))}
        </div>
      </Screen>
      <Outlet />
    </>
  );
}
