/** The local key that goes into an agent's settings: made here, shown once, or named by its tail. */
import { KeyRound } from "lucide-react";
import { useEffect, useRef } from "react";
import { WithIds } from "@/components/WithIds";
import { useChange, useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { CopyLine } from "./CopyButton";
import { ErrorLine } from "./States";
import { Button } from "./ui/button";

type AgentKeyProps = {
  /** The plain text of a key made in this window, if any. */
  made: string | null;
  onMade(key: string): void;
  /** Makes the first key unasked, as the set-up does. */
  makeFirst?: boolean;
};

export function AgentKey({ made, onMade, makeFirst = false }: AgentKeyProps) {
  const messages = useMessages();
  const words = messages.agents;
  const keys = useRead("keys_list", null);
  const create = useChange("key_create");
  const active = keys.data?.keys.filter((key) => key.isActive) ?? [];

  const make = () => {
    const name = freeName(words.keyName, keys.data?.keys.map((key) => key.name) ?? []);
    create.mutate({ name }, { onSuccess: ({ key }) => onMade(key) });
  };

  const asked = useRef(false);
  const isFirst = makeFirst && keys.data?.keys.length === 0;
  useEffect(() => {
    if (!isFirst || asked.current) return;
    asked.current = true;
    make();
  });

  if (made) {
    return (
      <div className="flex min-w-0 flex-col gap-1">
        <CopyLine text={made} label={messages.common.copyOf(words.key)} />
        <p className="text-ink-faint text-xs">{words.keyShownOnce}</p>
      </div>
    );
  }
  return (
    <div className="flex min-w-0 flex-col items-start gap-1.5">
      <Button
        variant={active.length === 0 ? "primary" : "secondary"}
        onClick={make}
        disabled={create.isPending || !keys.data}
      >
        <KeyRound aria-hidden />
        {active.length === 0 ? words.makeKey : words.makeAnotherKey}
      </Button>
      {create.error ? (
        <ErrorLine error={create.error} />
      ) : (
        <p className="text-ink-faint text-xs">
          {active[0] ? (
            <WithIds text={words.keyPlaceholderHelp(active[0].tail)} ids={[active[0].tail, words.keyPlaceholder]} />
          ) : (
            words.keyNone
          )}
        </p>
      )}
    </div>
  );
}

/** `name`, or `name 2`, `name 3`… */
export function freeName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let n = 2; ; n += 1) {
    const candidate = `${name} ${n}`;
    if (!taken.includes(candidate)) return candidate;
  }
}
