/** The exact settings of one agent, ready to copy. */
import { useState } from "react";
import { useMessages } from "@/i18n";
import { type Agent, type AgentContext, exportLines, type Shell, type Snippet, shells, type Way } from "@/lib/agents";
import { CopyButton } from "./CopyButton";
import { Segmented } from "./ui/segmented";

export function AgentSettings({ agent, context }: { agent: Agent; context: AgentContext }) {
  const messages = useMessages();
  const words = messages.agents;
  const [place, setPlace] = useState<Way["place"] | null>(null);
  const [shell, setShell] = useState<Shell>(() => (navigator.userAgent.includes("Windows") ? "powershell" : "posix"));
  const ways = agent.ways(context);
  const way = ways.find((candidate) => candidate.place === place) ?? ways[0];
  if (!way) return null;
  const hasShell = way.snippets.some((snippet) => snippet.kind === "environment");
  const note = agent.id in words.notes ? words.notes[agent.id as keyof typeof words.notes] : null;

  return (
    <div className="flex min-w-0 flex-col gap-4">
      {(ways.length > 1 || hasShell) && (
        <div className="flex flex-wrap items-center gap-3">
          {ways.length > 1 && (
            <Segmented
              label={words.settingsFile}
              value={way.place}
              options={ways.map(({ place: value }) => ({ value, label: words[value] }))}
              onChange={setPlace}
            />
          )}
          {hasShell && (
            <Segmented
              label={words.shells}
              value={shell}
              options={shells.map((value) => ({ value, label: words.shell[value] }))}
              onChange={setShell}
            />
          )}
        </div>
      )}
      {note && <p className="text-ink-soft">{note}</p>}
      {way.snippets.map((snippet, index) => (
        <SnippetView
          // biome-ignore lint/suspicious/noArrayIndexKey: the snippets of a way never change places
          key={index}
          snippet={snippet}
          shell={shell}
          agentName={agent.name}
        />
      ))}
    </div>
  );
}

function SnippetView({ snippet, shell, agentName }: { snippet: Snippet; shell: Shell; agentName: string }) {
  const messages = useMessages();
  const words = messages.agents;
  switch (snippet.kind) {
    case "environment":
      return (
        <CodeBlock
          title={words.environment}
          text={exportLines(snippet.variables, shell)}
          what={words.snippet(agentName)}
        />
      );
    case "file":
      return <CodeBlock title={snippet.path} mono text={snippet.text} what={words.snippet(snippet.path)} />;
    case "command":
      return <CodeBlock title={words.onceRun} text={snippet.text} what={words.snippet(agentName)} />;
    case "fields":
      return (
        <dl className="rounded-md border">
          {snippet.fields.map(([name, value]) => (
            <div key={name} className="flex h-10 items-center gap-3 border-b pr-1 pl-3 last:border-b-0">
              <dt className="w-32 shrink-0 text-ink-faint">{words.fieldLabels[name]}</dt>
              <dd className="min-w-0 flex-1 select-text truncate font-mono" title={value}>
                {value}
              </dd>
              <CopyButton text={value} label={messages.common.copyOf(words.fieldLabels[name])} />
            </div>
          ))}
        </dl>
      );
  }
}

type CodeBlockProps = { title: string; text: string; what: string; mono?: boolean };

export function CodeBlock({ title, text, what, mono = false }: CodeBlockProps) {
  const messages = useMessages();
  return (
    <figure className="min-w-0 overflow-hidden rounded-md border">
      <figcaption className="flex h-9 items-center justify-between gap-3 border-b bg-sunken pr-1 pl-3 text-ink-soft text-xs">
        <span className={mono ? "truncate font-mono" : "truncate"}>{title}</span>
        <CopyButton text={text} label={messages.common.copyOf(what)} />
      </figcaption>
      {/* Wrapped to be read to its end; what is copied has its own lines. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre
        tabIndex={0}
        className="max-h-96 select-text overflow-y-auto whitespace-pre-wrap px-3 py-2.5 font-mono text-xs leading-5 [overflow-wrap:anywhere]"
      >
        {text}
      </pre>
    </figure>
  );
}
