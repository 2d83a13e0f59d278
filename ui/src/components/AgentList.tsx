import { useMessages } from "@/i18n";
import { type Agent, type AgentId, agents } from "@/lib/agents";
import { cn } from "@/lib/cn";

type AgentListProps = { chosen: AgentId; onChoose(agent: Agent): void; filter?: string };

const groups = ["terminal", "editor", "code"] as const;

/** Every tool we know the settings of, by where it runs. */
export function AgentList({ chosen, onChoose, filter = "" }: AgentListProps) {
  const messages = useMessages();
  const wanted = filter.trim().toLowerCase();
  const found = agents.filter((agent) => agent.name.toLowerCase().includes(wanted));
  return (
    <nav aria-label={messages.agents.title} className="flex flex-col gap-4">
      {groups.map((group) => {
        const members = found.filter((agent) => agent.group === group);
        if (members.length === 0) return null;
        return (
          <section key={group}>
            <h2 className="mb-1 px-2 font-medium text-ink-faint text-xs">{messages.agents.groups[group]}</h2>
            <ul className="flex flex-col gap-px">
              {members.map((agent) => (
                <li key={agent.id}>
                  <button
                    type="button"
                    aria-current={agent.id === chosen ? "true" : undefined}
                    onClick={() => onChoose(agent)}
                    className={cn(
                      "flex h-8 w-full items-center rounded-md px-2 text-left transition-colors duration-100",
                      agent.id === chosen
                        ? "bg-selected font-medium text-accent-text"
                        : "text-ink-soft hover:bg-hover hover:text-ink",
                    )}
                  >
                    <span className="truncate">{agent.name}</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      {found.length === 0 && <p className="px-2 text-ink-faint">{messages.common.noMatch(filter)}</p>}
    </nav>
  );
}
