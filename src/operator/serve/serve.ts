/**
 * The two small HTTP servers of the operator: metrics, and health. Each answers GET and HEAD for the paths it is
 * given, says no to the rest, and reads no bodies. Plain HTTP: what they tell is no secret within a cluster. Where it is
 * to be one, the server takes a certificate and asks who is asking.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { limitConnections } from "./connections.ts";
import type { Verdict } from "./health.ts";
import type { Judgement } from "./reviews.ts";
import type { ServerCertificate } from "./server-certificate.ts";

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

/** TLS, and for whom it is. */
export interface Protection {
  readonly certificate: ServerCertificate;
  judge(authorization: string | undefined, path: string): Promise<Judgement>;
}

const LIMITS = { keepAliveTimeout: 5_000, headersTimeout: 5_000, requestTimeout: 10_000 };

/** Rejects when it cannot listen there. */
export async function serve(address: Address, paths: Paths, protection?: Protection): Promise<Served> {
  const server = protection ? protectedServer(paths, protection) : plainServer(paths);
  limitConnections(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: address.host, port: address.port }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        protection?.certificate.stop();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function plainServer(paths: Paths): Server {
  return createServer(LIMITS, (request, response) => send(request, response, answerTo(paths, request)));
}

function protectedServer(paths: Paths, protection: Protection): TlsServer {
  const { certificate } = protection;
  const { first } = certificate;
  const tls = { cert: first.certificate, key: first.key, minVersion: "TLSv1.2" as const };
  const server = createTlsServer({ ...LIMITS, ...tls, handshakeTimeout: 5_000 }, (request, response) => {
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    protection
      .judge(request.headers.authorization, path)
      .then((judgement) => refusals[judgement] ?? answerTo(paths, request))
      .catch((error: unknown) => text(500, `${error instanceof Error ? error.message : String(error)}\n`))
      .then(
        (answer) => send(request, response, answer),
        () => response.destroy(),
      );
  });
  certificate.onChange(({ certificate: cert, key }) => server.setSecureContext({ ...tls, cert, key }));
  return server;
}

const refusals: Partial<Record<Judgement, Answer>> = {
  unauthenticated: text(401, "unauthorized: send a token of Kubernetes as Authorization: Bearer\n"),
  forbidden: text(
    403,
    "forbidden: the token's account needs the verb get on this path (the ClusterRole quorate-metrics-reader)\n",
  ),
  refused: text(
    500,
    "the operator may not create TokenReviews or SubjectAccessReviews: apply config/metrics-secure.yaml\n",
  ),
  unknown: text(503, "the API server did not answer whether the token is valid: try again\n"),
  busy: text(503, "too many tokens are being checked: try again\n"),
};

function send(request: IncomingMessage, response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    ...(status === 401 && { "www-authenticate": "Bearer" }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

function answerTo(paths: Paths, { method = "GET", url = "/" }: IncomingMessage): Answer {
  return answerFor(paths, method, url);
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
