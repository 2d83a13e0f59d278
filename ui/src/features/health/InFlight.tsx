/** What is on its way at this moment, and how long the queues of the accounts are. */
import type { UnderwayRequest } from "@/bindings";
import { UnderwayTable } from "@/components/UnderwayTable";
import { useLive } from "@/host/queries";
import { useMessages } from "@/i18n";
import { groupBy } from "@/lib/group-by";

export function InFlight() {
  const words = useMessages().flow;
  const live = useLive();
  if (!live || live.inFlight === 0) return <p className="pt-3 text-ink-faint">{words.none}</p>;
  return (
    <>
      <p className="pt-3 pb-2 text-ink-soft">{words.summary(live.inFlight, live.queued)}</p>
      <Queues requests={live.underway} />
      <UnderwayTable requests={live.underway} />
    </>
  );
}

/** One line for each account that has somebody waiting. */
function Queues({ requests }: { requests: readonly UnderwayRequest[] }) {
  const words = useMessages().flow;
  const ofAccounts = groupBy(
    requests.filter(({ connectionId }) => connectionId !== null),
    ({ connectionId }) => connectionId ?? "",
  );
  const queues = [...ofAccounts].flatMap(([id, rows]) => {
    const waiting = rows.filter(({ stage }) => stage === "waits_for_place").length;
    const running = rows.filter(({ stage }) => stage === "asking" || stage === "answering").length;
    return waiting > 0 ? [{ id, name: rows[0]?.connectionName ?? id, running, waiting }] : [];
  });
  if (queues.length === 0) return null;
  return (
    <ul aria-label={words.queues} className="flex flex-wrap gap-x-6 gap-y-1 pb-2">
      {queues.map(({ id, name, running, waiting }) => (
        <li key={id}>
          <span className="font-medium">{name}</span>{" "}
          <span className="text-ink-soft">{words.queueOf(running, waiting)}</span>
        </li>
      ))}
    </ul>
  );
}
