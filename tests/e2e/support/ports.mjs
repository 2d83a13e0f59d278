/** Ports of this computer: free ones, and ones kept by somebody else. */
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that was free a moment ago. */
export async function freePort() {
  const { port, release } = await occupyPort();
  await release();
  return port;
}

/**
 * Another program's port, until released.
 *
 * @returns {Promise<{ port: number, release(): Promise<void> }>}
 */
export async function occupyPort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port was given");
  return {
    port: address.port,
    release: async () => {
      server.close();
      await once(server, "close");
    },
  };
}
