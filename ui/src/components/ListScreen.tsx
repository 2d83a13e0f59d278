/** A screen that is a list: its head finds and adds, its body says what it is for while it is empty. */
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import type { HostError } from "@/host";
import { useMessages } from "@/i18n";
import { FilterInput } from "./FilterInput";
import { Screen } from "./Screen";
import { EmptyState, ErrorState, SkeletonRows } from "./States";
import { Button } from "./ui/button";

/** Fewer are found by looking. */
const FILTER_ABOVE = 5;

type ListScreenProps = {
  title: string;
  help: string;
  read: { isPending: boolean; error: HostError | null; refetch(): unknown };
  /** How many there are, found or not; unknown while they are read. */
  count: number | undefined;
  /** How many of them the filter leaves; unknown where the list says so itself. */
  found?: number;
  filter: { label: string; value: string; onChange(value: string): void };
  add: { label: string; run(): void; disabled?: boolean; why?: string | undefined };
  empty: { title: string; help: string; action?: ReactNode };
  /** Beside the filter. */
  before?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
};

export function ListScreen(props: ListScreenProps) {
  const { title, help, read, count = 0, found, filter, add, empty, before, actions, children } = props;
  const messages = useMessages();
  const addButton = (
    <Button variant="primary" onClick={add.run} disabled={add.disabled} title={add.why}>
      <Plus aria-hidden />
      {add.label}
    </Button>
  );
  return (
    <Screen
      title={title}
      help={help}
      actions={
        count > 0 && (
          <>
            {before}
            {count > FILTER_ABOVE && <FilterInput {...filter} className="w-52" />}
            {actions}
            {addButton}
          </>
        )
      }
    >
      {read.isPending && <SkeletonRows rows={3} />}
      {read.error && <ErrorState error={read.error} onRetry={() => void read.refetch()} />}
      {!read.isPending && !read.error && count === 0 && (
        <EmptyState
          title={empty.title}
          help={empty.help}
          action={
            <>
              {addButton}
              {empty.action}
            </>
          }
        />
      )}
      {children}
      {count > 0 && found === 0 && filter.value.trim() !== "" && (
        <p className="py-6 text-ink-faint">{messages.common.noMatch(filter.value)}</p>
      )}
    </Screen>
  );
}
