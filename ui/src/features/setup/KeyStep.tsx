import type { Connection } from "@/bindings";
import { ConnectionForm } from "@/components/ConnectionForm";
import { CustomConnectionForm } from "@/components/CustomConnectionForm";
import { CUSTOM } from "@/components/ProviderPicker";
import { ErrorState, SkeletonRows } from "@/components/States";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { StepHeading } from "./StepHeading";

type KeyStepProps = { providerId: string; onBack(): void; onDone(connection: Connection): void };

export function KeyStep({ providerId, onBack, onDone }: KeyStepProps) {
  const messages = useMessages();
  const words = messages.setup.key;
  const catalog = useRead("catalog_providers", null);
  const provider = catalog.data?.providers.find((candidate) => candidate.id === providerId);
  const isCustom = providerId === CUSTOM;
  const name = provider?.name ?? providerId;
  const help = isCustom ? words.customHelp : provider?.authType === "none" ? words.localHelp : words.help;

  return (
    <>
      <StepHeading key={name} title={isCustom ? messages.nodes.title : words.title(name)} help={help} onBack={onBack} />
      <div className="max-w-[480px]">
        {isCustom && <CustomConnectionForm onDone={onDone} />}
        {!isCustom && catalog.isPending && <SkeletonRows rows={4} height={64} />}
        {!isCustom && catalog.error && <ErrorState error={catalog.error} onRetry={() => void catalog.refetch()} />}
        {provider && <ConnectionForm provider={provider} onDone={onDone} />}
      </div>
    </>
  );
}
