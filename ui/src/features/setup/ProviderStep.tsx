import { Check, ChevronRight } from "lucide-react";
import type { Connection } from "@/bindings";
import { ProviderPicker } from "@/components/ProviderPicker";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { StepHeading } from "./StepHeading";

type ProviderStepProps = {
  onPick(providerId: string): void;
  /** Goes on with a connection that is already there. */
  onResume(choice: { provider: string; connection: string }): void;
};

export function ProviderStep({ onPick, onResume }: ProviderStepProps) {
  const words = useMessages().setup;
  const connections = useRead("connections_list", {});
  const first = connections.data?.connections[0];
  return (
    <>
      <StepHeading title={words.provider.title} help={words.provider.help} />
      {first && (
        <Resume connection={first} onResume={() => onResume({ provider: first.provider, connection: first.id })} />
      )}
      <ProviderPicker columns={2} onPick={onPick} />
    </>
  );
}

function Resume({ connection, onResume }: { connection: Connection; onResume(): void }) {
  const messages = useMessages();
  return (
    <button
      type="button"
      onClick={onResume}
      className="mb-6 flex h-12 w-full items-center gap-3 rounded-md bg-ready-soft px-4 text-left"
    >
      <Check aria-hidden className="size-4 shrink-0 text-ready" />
      <span className="min-w-0 flex-1 truncate font-medium">{messages.setup.key.connected(connection.name)}</span>
      <span className="inline-flex shrink-0 items-center gap-1 font-medium text-accent-text">
        {messages.common.continue}
        <ChevronRight aria-hidden className="size-4" />
      </span>
    </button>
  );
}
