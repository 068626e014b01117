/**
 * The two small HTTP servers of the operator: metrics, and health. Each answers GET and HEAD for the paths it is
 * given, says no to the rest, and reads no bodies. Plain HTTP: what they tell is no secret within a cluster.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { limitConnections } from "./connections.ts";
import type { Verdict } from "./health.ts";

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export type Paths = Readonly<Record<string, () => Answer>>;

/** Where to listen: `0.0.0.0:8080`, `[::]:8080`, `:8080` for every address. */
export interface Address {
  readonly host: string | undefined;
  readonly port: number;
}

/** Undefined when it is no address; port 0 stands for any that is free. */
export function parseAddress(text: string): Address | undefined {
  const [, ipv6, host, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) return undefined;
  return { host: ipv6 ?? (host || undefined), port };
}

export interface Served {
  /** The port that was asked for, or the free one that was found. */
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects when it cannot listen there. */
export async function serve(address: Address, paths: Paths): Promise<Served> {
  const limits = { keepAliveTimeout: 5_000, headersTimeout: 5_000, requestTimeout: 10_000 };
  const server = createServer(limits, (request, response) => answer(paths, request, response));
  limitConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: address.host, port: address.port }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(paths: Paths, request: IncomingMessage, response: ServerResponse): void {
  const { status, type, body } = answerFor(paths, request.method ?? "GET", request.url ?? "/");
  response.writeHead(status, { "content-type": type, "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? undefined : body);
}

export function answerFor(paths: Paths, method: string, url: string): Answer {
  const [path = "/"] = url.split("?", 1);
  const found = Object.hasOwn(paths, path) ? paths[path] : undefined;
  if (found === undefined) return text(404, `not found; available: ${Object.keys(paths).join(" and ")}\n`);
  if (method !== "GET" && method !== "HEAD") return text(405, "only GET\n");
  try {
    return found();
  } catch (error) {
    return text(500, `${error instanceof Error ? error.message : String(error)}\n`);
  }
}

export function verdictAnswer({ ok, lines }: Verdict): Answer {
  return text(ok ? 200 : 503, `${lines.join("\n")}\n`);
}

function text(status: number, body: string): Answer {
  return { status, type: "text/plain; charset=utf-8", body };
}
