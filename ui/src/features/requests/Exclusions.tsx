/** Who was left out of a request, by which mechanism, until when, and what would bring it back. */
import { Link } from "@tanstack/react-router";
import type { RequestDetail, RequestExclusion } from "@/bindings";
import { buttonClass } from "@/components/ui/button";
import { WhyNot } from "@/components/WhyNot";
import { useMessages } from "@/i18n";

export function Exclusions({ request }: { request: RequestDetail }) {
  const words = useMessages().requests.story;
  return (
    <div className="flex flex-col gap-2">
      {request.trace.exclusions.map((exclusion) => (
        <WhyNot
          key={`${exclusion.connectionId} ${exclusion.model} ${exclusion.mechanism}`}
          about={exclusion.connectionName ?? `${exclusion.provider}/${exclusion.model}`}
          mechanism={words.mechanisms[exclusion.mechanism] ?? exclusion.mechanism}
          reason={
            exclusion.reason in words.reasons
              ? words.reasons[exclusion.reason as keyof typeof words.reasons]
              : exclusion.reason
          }
          until={exclusion.until}
          end={
            exclusion.mechanism in words.ends ? words.ends[exclusion.mechanism as keyof typeof words.ends] : undefined
          }
          action={<Remedy exclusion={exclusion} keyId={request.keyId} />}
        />
      ))}
    </div>
  );
}

/** Where the person goes to change it; nothing where only time or another request helps. */
function Remedy({ exclusion, keyId }: { exclusion: RequestExclusion; keyId: string | null }) {
  const words = useMessages().requests.story;
  const look = buttonClass({ size: "sm" });
  switch (exclusion.mechanism) {
    case "key_allow_list":
      return keyId === null ? null : (
        <Link to="/settings/keys/$keyId" params={{ keyId }} className={look}>
          {words.openKey}
        </Link>
      );
    case "dialect_mismatch":
      return (
        <Link to="/settings/agents" className={look}>
          {words.openAgents}
        </Link>
      );
    case "request_exhaustion":
      return null;
    case "switched_off":
    case "excluded_model":
    case "credential_gate":
    case "concurrency_cap":
      return exclusion.connectionId === null ? null : (
        <Link
          to="/providers/$providerId/connections/$connectionId"
          params={{ providerId: exclusion.provider, connectionId: exclusion.connectionId }}
          className={look}
        >
          {words.openConnection}
        </Link>
      );
  }
}
