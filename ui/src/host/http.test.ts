import { describe, expect, it } from "vitest";
import { readEventStream } from "./event-stream";
import { toRequest } from "./http";

describe("an operation over REST", () => {
  it("fills its path and sends the rest of a change as the body", () => {
    const { url, init } = toRequest("connection_update", { id: "a/b", isActive: false });
    expect(url).toBe("/api/providers/a%2Fb");
    expect(init).toMatchObject({ method: "PATCH", body: '{"isActive":false}' });
  });

  it("sends the rest of a read as the query, without what is absent", () => {
    const { url, init } = toRequest("requests_list", { limit: 15, ...({ model: undefined } as object) });
    expect(url).toBe("/api/requests?limit=15");
    expect(init.body).toBeUndefined();
  });

  it("sends no body where there is nothing to say", () => {
    expect(toRequest("connection_restore", { id: "c1" }).init).toEqual({ method: "POST" });
  });
});

describe("the event stream", () => {
  const text = ': hello\r\n\r\nevent: changed\r\ndata: {"topics":["keys"]}\r\n\r\ndata: a\ndata: b\n\n';
  const expected = [
    ["changed", '{"topics":["keys"]}'],
    ["message", "a\nb"],
  ];

  it("reads the same events wherever it is split", async () => {
    const bytes = new TextEncoder().encode(text);
    for (let split = 0; split <= bytes.length; split += 1) {
      const events: string[][] = [];
      await readEventStream(stream(bytes.slice(0, split), bytes.slice(split)), (...event) => events.push(event));
      expect(events, `split at ${split}`).toEqual(expected);
    }
  });
});

function stream(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}
