/** A request as a command to try again. Keys and prompts are not in the log, so both are placeholders. */
import type { RequestRow } from "@/bindings";
import { quotePosix } from "./agents";

type Part = Pick<RequestRow, "method" | "path" | "sourceFormat" | "requestedModel" | "stream">;

export function requestCurl(request: Part, url: string, words: { key: string; prompt: string }): string {
  const { sourceFormat, stream } = request;
  const query = sourceFormat === "gemini" && stream ? "?alt=sse" : "";
  const lines = [
    `curl ${quotePosix(`${url}${request.path}${query}`)}`,
    ...(stream ? ["-N"] : []),
    `-H "Authorization: Bearer ${words.key}"`,
    '-H "Content-Type: application/json"',
    ...(sourceFormat === "messages" ? ['-H "anthropic-version: 2023-06-01"'] : []),
    `-d ${quotePosix(JSON.stringify(body(request, words.prompt)))}`,
  ];
  return lines.join(" \\\n  ");
}

function body({ path, sourceFormat, requestedModel: model, stream }: Part, prompt: string): object {
  const streamed = stream ? { stream } : {};
  if (path.endsWith("/embeddings")) return { model, input: prompt };
  const messages = [{ role: "user", content: prompt }];
  switch (sourceFormat) {
    case "chat":
      return { model, messages, ...streamed };
    case "messages":
      return path.endsWith("/count_tokens") ? { model, messages } : { model, max_tokens: 256, messages, ...streamed };
    case "responses":
      return { model, input: prompt, ...streamed };
    case "gemini":
      return { contents: [{ role: "user", parts: [{ text: prompt }] }] };
  }
}
