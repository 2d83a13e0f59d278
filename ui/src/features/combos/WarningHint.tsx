import type { ComboWarning } from "@/bindings";
import { StateSign } from "@/components/StateSign";
import { WithIds } from "@/components/WithIds";
import { useMessages } from "@/i18n";

/** Worth knowing, and nothing to be done about it now. */
export function WarningHint({ warning: { code, modelId, providerId } }: { warning: ComboWarning }) {
  const words = useMessages().combos.warnings;
  const id = `${providerId}/${modelId}`;
  return (
    <p className="mt-2 flex items-start gap-2 text-ink-soft text-xs">
      <StateSign state="degraded" className="mt-0.5" />
      <span className="min-w-0 select-text break-words">
        <WithIds text={words[code](id)} ids={[id]} />
      </span>
    </p>
  );
}
