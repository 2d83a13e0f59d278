/** Who was left out of a request, by which mechanism, until when, and what would bring it back. */
import { Link } from "@tanstack/react-router";
import type { RequestDetail, RequestExclusion } from "@/bindings";
import { buttonClass } from "@/components/ui/button";
import { WhyNot } from "@/components/WhyNot";
import { useFormat, useMessages } from "@/i18n";
import { groupBy } from "@/lib/group-by";

/** More names than this are counted instead. */
const NAMED = 4;

export function Exclusions({ request }: { request: RequestDetail }) {
  const messages = useMessages();
  const words = messages.requests.story;
  const format = useFormat();
  // What leaves an account out, and what leaves a target of a combo out.
  const reasons: Readonly<Record<string, string>> = { ...messages.combos.preview.reasons, ...words.reasons };
  // Those left out for the same reason are told of once.
  const groups = groupBy(request.trace.exclusions, (e) => `${e.mechanism} ${e.reason} ${e.until}`);
  return (
    <div className="flex flex-col gap-2">
      {[...groups].map(([key, group]) => {
        const [first] = group;
        if (!first) return null;
        const names = group.map(nameOf);
        const shown = names.slice(0, NAMED);
        const more = names.length - shown.length;
        return (
          <WhyNot
            key={key}
            about={more > 0 ? `${shown.join(", ")} ${words.andMore(more)}` : format.list(shown)}
            ids={group.flatMap((exclusion) => (exclusion.connectionName === null ? [nameOf(exclusion)] : []))}
            mechanism={words.mechanisms[first.mechanism] ?? first.mechanism}
            reason={reasons[first.reason] ?? first.reason}
            cause={first.cause}
            until={first.until}
            end={first.mechanism in words.ends ? words.ends[first.mechanism as keyof typeof words.ends] : undefined}
            action={<Remedy exclusions={group} request={request} />}
          />
        );
      })}
    </div>
  );
}

function nameOf({ connectionName, provider, model }: RequestExclusion): string {
  return connectionName ?? `${provider}/${model}`;
}

/** Where the person goes to change it; nothing where only time or another request helps. */
function Remedy({ exclusions, request }: { exclusions: readonly RequestExclusion[]; request: RequestDetail }) {
  const { keyId, requestedModel } = request;
  const words = useMessages().requests.story;
  const look = buttonClass({ size: "sm" });
  switch (exclusions[0]?.mechanism) {
    case "key_allow_list":
    case "key_limit":
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
    case "switched_off":
    case "excluded_model":
    case "credential_gate":
    case "terminal_state":
    case "concurrency_cap":
    case "admission_lane":
    case "quota_cutoff":
      return exclusions.slice(0, NAMED).map(
        (exclusion) =>
          exclusion.connectionId && (
            <Link
              key={exclusion.connectionId}
              to="/providers/$providerId/connections/$connectionId"
              params={{ providerId: exclusion.provider, connectionId: exclusion.connectionId }}
              className={look}
            >
              <span className="max-w-40 truncate">
                {exclusions.length === 1 ? words.openConnection : words.openNamed(nameOf(exclusion))}
              </span>
            </Link>
          ),
      );
    case "request_exhaustion":
    case "tool_limit":
    case undefined:
      return null;
    case "circuit_breaker":
      return (
        <Link to="/monitoring/health/$providerId" params={{ providerId: exclusions[0].provider }} className={look}>
          {words.openHealth}
        </Link>
      );
    case "connection_cooldown":
    case "model_lockout":
    case "provider_cooldown":
      // What a timer ends may have ended since.
      return (
        <Link to="/monitoring/explain" search={{ model: requestedModel }} className={look}>
          {words.whyNow}
        </Link>
      );
  }
}
