/** Where nothing has come in yet: what a person does next, which depends on how far they are. */
import { Link } from "@tanstack/react-router";
import { useRead } from "@/host/queries";
import { useMessages } from "@/i18n";
import { buttonClass } from "./ui/button";

/** Without a connection an agent would be let in and get no answer: the set-up leads through both. */
export function useIsNew(): boolean {
  return useRead("connections_list", {}).data?.connections.length === 0;
}

export function FirstStep({ quiet = false }: { quiet?: boolean }) {
  const words = useMessages().home;
  if (useIsNew()) {
    return (
      <Link to="/setup" className={buttonClass({ variant: "primary" })}>
        {words.startSetup}
      </Link>
    );
  }
  return (
    <Link to="/settings/agents" className={buttonClass({ variant: quiet ? "secondary" : "primary" })}>
      {words.connectAgent}
    </Link>
  );
}
