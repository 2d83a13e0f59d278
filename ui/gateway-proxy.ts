/**
 * Lets the page run in a plain browser: passes `/api` on to a running gateway.
 *
 * The management token is added here, on the machine's own side, so that it never reaches the page; `Origin` is removed
 * because the gateway refuses foreign web origins and needs no exception for development.
 *
 * Where the gateway is: `OMNIROUTE_URL`, else `gateway.json` of the data folder. The token: `OMNIROUTE_MANAGEMENT_TOKEN`,
 * else the file `management-token` beside it. The folder: `OMNIROUTE_DATA_DIR`, else the platform's own.
 */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { homedir, platform } from "node:os";
import { join } from "node:path";
import type { Connect, Plugin } from "vite";

const BUNDLE_ID = "app.omniroute.desktop";

export function gatewayProxy(): Plugin {
  return {
    name: "omniroute-gateway-proxy",
    configureServer(server) {
      server.middlewares.use("/api", forward);
    },
    configurePreviewServer(server) {
      server.middlewares.use("/api", forward);
    },
  };
}

function forward(incoming: Connect.IncomingMessage, reply: ServerResponse): void {
  let target: URL;
  let token: string;
  try {
    target = new URL(gatewayUrl());
    token = managementToken();
  } catch (error) {
    refuse(reply, `no running gateway was found: ${(error as Error).message}`);
    return;
  }
  const headers: IncomingMessage["headers"] = {
    ...incoming.headers,
    host: target.host,
    authorization: `Bearer ${token}`,
  };
  delete headers.origin;
  delete headers.referer;

  const outgoing = request(
    {
      hostname: target.hostname,
      port: target.port,
      method: incoming.method,
      path: incoming.originalUrl ?? incoming.url,
      headers,
    },
    (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    },
  );
  outgoing.on("error", (error) => refuse(reply, error.message));
  reply.on("close", () => outgoing.destroy());
  incoming.pipe(outgoing);
}

function refuse(reply: ServerResponse, message: string): void {
  if (reply.headersSent) {
    reply.destroy();
    return;
  }
  reply.writeHead(502, { "content-type": "application/json" });
  reply.end(JSON.stringify({ error: { code: "gateway_unreachable", message, details: [] } }));
}

function gatewayUrl(): string {
  const fromEnvironment = process.env.OMNIROUTE_URL;
  if (fromEnvironment) return fromEnvironment;
  const running = JSON.parse(readFileSync(join(dataFolder(), "gateway.json"), "utf8")) as { url: string };
  return running.url;
}

function managementToken(): string {
  return process.env.OMNIROUTE_MANAGEMENT_TOKEN ?? readFileSync(join(dataFolder(), "management-token"), "utf8").trim();
}

function dataFolder(): string {
  const chosen = process.env.OMNIROUTE_DATA_DIR;
  if (chosen) return chosen;
  switch (platform()) {
    case "darwin":
      return join(homedir(), "Library", "Application Support", BUNDLE_ID);
    case "win32":
      return join(process.env.APPDATA ?? join(homedir(), "AppData", "Roaming"), BUNDLE_ID);
    default:
      return join(process.env.XDG_DATA_HOME ?? join(homedir(), ".local", "share"), BUNDLE_ID);
  }
}
