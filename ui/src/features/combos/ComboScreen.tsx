/** One combo by its address, or a new one. */
import { getRouteApi, Outlet, useNavigate } from "@tanstack/react-router";
import { Screen } from "@/components/Screen";
import { ErrorState, Gone, SkeletonRows } from "@/components/States";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { ComboEditor } from "./ComboEditor";

const route = getRouteApi("/combos/$comboId");

export function NewComboScreen() {
  return <ComboEditor saved={null} warnings={[]} />;
}

export function ComboScreen() {
  const messages = useMessages();
  const words = messages.combos;
  const navigate = useNavigate();
  const { comboId } = route.useParams();
  const read = useRead("combo_get", { id: comboId });
  if (read.data) {
    return (
      <>
        <ComboEditor key={comboId} saved={read.data.combo} warnings={read.data.warnings} />
        <Outlet />
      </>
    );
  }
  const gone = read.error?.code === "not_found";
  return (
    <Screen title={gone ? words.one : words.title}>
      {read.isPending && <SkeletonRows rows={6} height={56} />}
      {gone && <Gone title={words.notFound} back={words.all} onBack={() => void navigate({ to: "/combos" })} />}
      {read.error && !gone && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
    </Screen>
  );
}
