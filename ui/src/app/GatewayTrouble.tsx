/** What the window shows instead of its screens while the gateway inside it does not run. */
import { useEffect, useState } from "react";
import { Button } from "@/components/ui/button";
import { type GatewayState, useHost } from "@/host";
import { useMessages } from "@/i18n";

type Trouble = Exclude<GatewayState, { state: "running" }>;

/** Why the gateway does not run; nothing while it does, and in a browser. */
export function useGatewayTrouble(): Trouble | null {
  const { gateway } = useHost().window;
  const [state, setState] = useState<GatewayState | null>(null);
  useEffect(() => gateway?.watch(setState), [gateway]);
  return state === null || state.state === "running" ? null : state;
}

export function GatewayTrouble({ state }: { state: Trouble }) {
  const words = useMessages().shell;
  const { gateway } = useHost().window;
  const [starting, setStarting] = useState(false);
  const startOn = async (port: number) => {
    setStarting(true);
    await gateway?.startOn(port).catch(() => undefined);
    setStarting(false);
  };

  if (state.state === "failed") {
    return (
      <section role="alert" className="mx-auto max-w-[640px] px-6 pt-24">
        <h1 className="font-semibold text-lg">{words.failed}</h1>
        <p className="mt-1 select-text break-words font-mono text-ink-soft">{state.message}</p>
      </section>
    );
  }
  const { port, next } = state;
  return (
    <section role="alert" className="mx-auto max-w-[640px] px-6 pt-24">
      <h1 className="font-semibold text-lg">{words.portTaken(port)}</h1>
      <p className="mt-1 text-ink-soft">{words.portTakenHelp}</p>
      <div className="mt-5 flex gap-2">
        {next !== null && (
          <Button variant="primary" disabled={starting} onClick={() => void startOn(next)}>
            {words.switchPort(next)}
          </Button>
        )}
        <Button disabled={starting} onClick={() => void startOn(port)}>
          {words.retryPort(port)}
        </Button>
      </div>
    </section>
  );
}
