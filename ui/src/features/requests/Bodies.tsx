/** What was asked and answered, where the gateway keeps that. */
import type { RequestDetail } from "@/bindings";
import { CodeBlock } from "@/components/AgentSettings";
import { useMessages } from "@/i18n";
import { indentJson } from "@/lib/indent-json";

export function Bodies({ request: { requestBody, responseBody } }: { request: RequestDetail }) {
  const words = useMessages().requests.story;
  return (
    <div className="flex flex-col gap-3">
      {requestBody !== null && (
        <CodeBlock title={words.requestBody} text={indentJson(requestBody)} what={words.requestBody} />
      )}
      {responseBody !== null && (
        <CodeBlock title={words.responseBody} text={indentJson(responseBody)} what={words.responseBody} />
      )}
      <p className="text-ink-faint text-xs">{words.bodiesHelp}</p>
    </div>
  );
}
