/**
 * The real `EtcdProbe`: HTTP requests to one member, over the same TLS credentials as gRPC. etcd serves
 * `/version` on the client port, `/livez` and `/metrics` on the metrics port, which is plain on purpose (R37).
 */
import { Agent as HttpAgent, request as requestHttp, type ClientRequest } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { connect, isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls, type SecureContext, type TLSSocket } from "node:tls";
import { secureContext } from "../http2/dial.ts";
import type { Idle } from "../http2/idle.ts";
import type { EtcdProbe, Offered } from "../seams/etcd-probe.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";
import type { KeyPair } from "../seams/pki.ts";
import type { TlsCredentials } from "./types.ts";

/** An answer is a line or two; anything longer is not etcd's. */
const LONGEST_ANSWER = 64 * 1024;
/** All metrics of a large cluster, with histograms for every peer and every call. */
const LONGEST_METRICS = 8 * 1024 * 1024;

export class HttpProbe implements EtcdProbe {
  #context: SecureContext | undefined;
  #https: SecureAgent;
  readonly #http = new HttpAgent({ keepAlive: true, maxSockets: 2 });
  readonly #idle: Idle | undefined;

  /** `idle` is shared with others; without it, connections stay open. */
  constructor({ idle }: { idle?: Idle } = {}) {
    this.#idle = idle;
    this.#https = new SecureAgent(idle);
  }

  setCredentials(credentials: TlsCredentials): void {
    this.#https.destroy();
    this.#https = new SecureAgent(this.#idle);
    this.#context = secureContext(credentials);
  }

  async versions(endpoint: Endpoint, signal: AbortSignal): Promise<{ server: string; cluster?: string }> {
    const { status, body } = await this.#get(new URL("/version", endpoint.url), signal, endpoint.serverName);
    if (status !== 200) throw new Error(`${endpoint.url}/version answered with HTTP status ${status}`);
    const answer = JSON.parse(body) as { etcdserver?: unknown; etcdcluster?: unknown };
    const { etcdserver, etcdcluster } = answer;
    if (typeof etcdserver !== "string") throw new Error(`${endpoint.url}/version does not name a version`);
    const agreed = agreedVersion(etcdcluster);
    return { server: etcdserver, ...(agreed !== undefined && { cluster: agreed }) };
  }

  async alive(metricsURL: string, signal: AbortSignal): Promise<boolean> {
    try {
      const { status } = await this.#get(new URL("/livez", metricsURL), signal);
      if (status !== 404) return status === 200;
      // Before 3.5.11: a serializable read, and no alarm may count (R35).
      const old = new URL("/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT", metricsURL);
      return (await this.#get(old, signal)).status === 200;
    } catch {
      return false;
    }
  }

  async ready(url: string, signal: AbortSignal): Promise<boolean> {
    return await isOk(new URL(url), signal);
  }

  async activePeers(metricsURL: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    try {
      const url = new URL("/metrics", metricsURL);
      const { status, body } = await this.#get(url, signal, undefined, LONGEST_METRICS);
      return status === 200 ? activePeersIn(body) : undefined;
    } catch {
      return undefined;
    }
  }

  certificate(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
    const url = new URL("/version", endpoint.url);
    const { serverName: servername } = endpoint;
    return new Promise((resolve) => {
      if (url.protocol !== "https:") return resolve(undefined);
      // Without an agent: a connection that is open already was shown the certificate of its time.
      const options = {
        agent: false,
        secureContext: this.#context,
        signal,
        ...(servername && { servername }),
      };
      const outgoing = requestHttps(url, options);
      outgoing.on("error", () => resolve(undefined));
      outgoing.on("response", (response) => {
        const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
        resolve(fingerprint256?.replaceAll(":", "").toLowerCase());
        response.resume();
      });
      outgoing.end();
    });
  }

  offer(endpoint: Endpoint, offered: KeyPair, signal: AbortSignal): Promise<Offered | undefined> {
    return offerTo(new URL("/version", endpoint.url), endpoint.serverName, offered, signal);
  }

  /** The answer of anything that speaks plain HTTP; undefined, never a rejection, without a good one. */
  async read(url: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const { status, body } = await this.#get(new URL(url), signal);
      return status === 200 ? body : undefined;
    } catch {
      return undefined;
    }
  }

  /** When it answered, by the clock of its machine: whatever the answer, Go's server puts a Date on it. */
  date(url: string, signal: AbortSignal): Promise<number | undefined> {
    return new Promise((resolve) => {
      // Without an agent: asked of every member once in a while, kept connections would only take memory.
      const outgoing = requestHttp(url, { agent: false, signal });
      outgoing.on("error", () => resolve(undefined));
      outgoing.on("response", (response) => {
        const at = Date.parse(response.headers.date ?? "");
        resolve(Number.isNaN(at) ? undefined : at);
        response.resume();
      });
      outgoing.end();
    });
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #get(
    url: URL,
    signal: AbortSignal,
    servername?: string,
    longest = LONGEST_ANSWER,
  ): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const secure = url.protocol === "https:";
      const tls = { agent: this.#https, secureContext: this.#context, ...(servername && { servername }) };
      const outgoing = secure
        ? requestHttps(url, { ...tls, signal })
        : requestHttp(url, { agent: this.#http, signal });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          body += chunk;
          if (body.length > longest) response.destroy(new Error(`${url.href} sent too large an answer`));
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", reject);
      });
      outgoing.end();
    });
  }
}

/**
 * A certificate with names is accepted by a peer, and its connection is closed all the same where none of the names leads
 * to our address (R46), without a word about it. So nothing is asked then: that it was accepted shows in the handshake.
 */
async function offerTo(
  url: URL,
  serverName: string | undefined,
  offered: KeyPair,
  signal: AbortSignal,
): Promise<Offered | undefined> {
  const first = await attempt(url, serverName, offered, signal);
  if (!first || first.served || first.rejected) return first && { shown: first.shown, served: first.served };
  const second = await attempt(url, serverName, offered, signal, true);
  return { shown: first.shown, served: second?.served === true };
}

interface Attempt extends Offered {
  /** By an alert of TLS. */
  readonly rejected: boolean;
}

/**
 * By hand, since Node's client tells nothing of a connection that ends before an answer: with TLS 1.3 a server rejects
 * the certificate of its client only after the client takes the connection for made.
 */
function attempt(
  { protocol, hostname, port, pathname, host }: URL,
  serverName: string | undefined,
  { certificate, key }: KeyPair,
  signal: AbortSignal,
  isQuiet = false,
): Promise<Attempt | undefined> {
  return new Promise((resolve) => {
    if (protocol !== "https:" || signal.aborted) return resolve(undefined);
    const address = hostname.replace(/^\[|\]$/g, "");
    const servername = serverName ?? (isIP(address) === 0 ? address : undefined);
    const socket = connectTls({
      host: address,
      port: Number(port || 443),
      cert: certificate,
      key,
      // Who issued what is shown is for the caller to judge.
      rejectUnauthorized: false,
      ...(servername !== undefined && { servername }),
    });
    let shown: string | undefined;
    let answer = "";
    const settle = (served: boolean, rejected = false) => {
      signal.removeEventListener("abort", onAbort);
      resolve(shown === undefined ? undefined : { shown, served, rejected });
      socket.destroy();
    };
    // Without an answer in time nothing is known.
    const onAbort = () => {
      shown = undefined;
      settle(false);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.setEncoding("latin1");
    socket.on("secureConnect", () => {
      shown = toPem(socket.getPeerCertificate().raw);
      // Up to TLS 1.2 the certificate of the client is judged before the connection is made.
      if (isQuiet && socket.getProtocol() !== "TLSv1.3") return settle(true);
      if (!isQuiet) socket.write(`GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
    // With TLS 1.3 a server sends a ticket when it has judged it.
    socket.on("session", () => {
      if (isQuiet && socket.getProtocol() === "TLSv1.3") settle(true);
    });
    socket.on("data", (text: string) => {
      answer += text;
      if (answer.length >= STATUS_LINE.length) settle(/^HTTP\/1\.[01] 200 /.test(answer));
    });
    socket.on("error", ({ code }: NodeJS.ErrnoException) =>
      settle(false, code?.startsWith("ERR_SSL_") === true),
    );
    socket.on("close", () => settle(false));
  });
}

function toPem(der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString("base64")
    .match(/.{1,64}/g);
  return `-----BEGIN CERTIFICATE-----\n${(lines ?? []).join("\n")}\n-----END CERTIFICATE-----\n`;
}

/**
 * Whether the answer to a plain request is 200; false, never a rejection. Asked of every member every few seconds, so
 * without Node's client: a connection that it keeps holds 20 kB, and one that it does not costs twice as much time.
 */
function isOk({ hostname, port, pathname, search, host }: URL, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) });
    let answer = "";
    const settle = (isIt: boolean) => {
      signal.removeEventListener("abort", onAbort);
      resolve(isIt);
      socket.destroy();
    };
    const onAbort = () => settle(false);
    socket.setEncoding("latin1");
    socket.on("error", onAbort);
    socket.on("close", onAbort);
    socket.on("data", (text: string) => {
      answer += text;
      if (answer.length >= STATUS_LINE.length) settle(/^HTTP\/1\.[01] 200 /.test(answer));
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    else socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}

const STATUS_LINE = "HTTP/1.1 200 ";

/**
 * A new cluster says `not_decided`, and 3.0.0 for some seconds where a member did not answer the others at first.
 * None that we know speaks 3.0 any more, so that both mean the same: nothing is agreed yet.
 */
export function agreedVersion(reported: unknown): string | undefined {
  return typeof reported === "string" && /^\d+\.\d+/.test(reported) && !reported.startsWith("3.0.")
    ? reported
    : undefined;
}

/**
 * The gauge `etcd_network_active_peers{Local="…",Remote="…"}` in Prometheus' text format: 1 while a member has a
 * connection to the remote one. It is set back within 5 s of silence, also where the connection itself stays open.
 */
export function activePeersIn(metrics: string): ReadonlySet<string> {
  const gauge = /^etcd_network_active_peers\{([^}]*)\} (\S+)$/gm;
  const active = new Set<string>();
  for (const [, labels = "", value = ""] of metrics.matchAll(gauge)) {
    const [, remote] = /\bRemote="([0-9a-f]+)"/.exec(labels) ?? [];
    if (remote !== undefined && Number(value) > 0) active.add(remote);
  }
  return active;
}

/** Tells of each connection when it is put away for later, and when it is taken again. */
class SecureAgent extends HttpsAgent {
  readonly #idle: Idle | undefined;
  readonly #gone: (this: Duplex) => void;

  constructor(idle: Idle | undefined) {
    super({ keepAlive: true, maxSockets: 2 });
    this.#idle = idle;
    this.#gone = function gone() {
      idle?.delete(this);
    };
  }

  /** Falsy: it is not kept. */
  override keepSocketAlive(socket: Duplex): boolean {
    const kept = super.keepSocketAlive(socket) as unknown as boolean;
    if (!kept || this.#idle === undefined) return kept;
    socket.once("close", this.#gone);
    this.#idle.add(socket);
    return kept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    socket.off("close", this.#gone);
    this.#idle?.delete(socket);
    super.reuseSocket(socket, request);
  }
}
