/** Reads server-sent events with `fetch`, which `EventSource` could not do with a method or a header of its own. */
export async function readEventStream(
  body: ReadableStream<Uint8Array>,
  onEvent: (name: string, data: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    // A carriage return at the end may be half of a line end: it waits for its other half.
    const held = text.endsWith("\r") ? "\r" : "";
    const blocks = text
      .slice(0, text.length - held.length)
      .replace(/\r\n?/g, "\n")
      .split("\n\n");
    text = (blocks.pop() ?? "") + held;
    for (const block of blocks) emit(block, onEvent);
  }
}

function emit(block: string, onEvent: (name: string, data: string) => void): void {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length > 0) onEvent(name, data.join("\n"));
}
