/**
 * One HTTP/2 connection to the API server. It is ready when the server's settings have come (a frozen server
 * accepts TCP and never sends them), holds the process awake only while calls are under way, and pings while
 * there are any: a peer that vanished says nothing, and a watch would wait on it for ever.
 */
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from "node:http2";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, TLSSocket } from "node:tls";
import type { Clock, Timer } from "../seams/clock.ts";
import { KubeFailure } from "../seams/kube-transport.ts";
import type { KubeConfig } from "./config.ts";
import type { Credentials } from "./identity.ts";

/** How long a peer may be silent before it counts as gone. */
export interface Patience {
  readonly connectMs: number;
  readonly pingEveryMs: number;
  readonly pingAnswerMs: number;
}

export const PATIENCE: Patience = { connectMs: 5_000, pingEveryMs: 5_000, pingAnswerMs: 5_000 };

/** Lists come at full speed: the default of 64 KiB would cost a round trip for each. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;
/** The API server allows 100; what goes beyond would wait behind watches, which do not end. */
const MOST_STREAMS = 80;

export class Connection {
  readonly credentials: Credentials;
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #patience: Patience;
  readonly #watches = new Set<ClientHttp2Stream>();
  #retired = false;
  #calls = 0;
  #ping: Timer | undefined;
  #pinging = false;

  private constructor(
    session: ClientHttp2Session,
    credentials: Credentials,
    clock: Clock,
    patience: Patience,
    onGone: (connection: Connection) => void,
  ) {
    this.#session = session;
    this.credentials = credentials;
    this.#clock = clock;
    this.#patience = patience;
    session.setLocalWindowSize(SESSION_WINDOW);
    session.unref();
    session.once("goaway", () => {
      this.#retired = true;
      onGone(this);
      // A server that shuts down waits for its watches; ours end here, in order, and go on elsewhere at once.
      for (const stream of this.#watches) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    session.once("close", () => {
      this.#retired = true;
      this.#ping?.cancel();
      onGone(this);
    });
  }

  /** Connects, or rejects with a failure that was not sent. */
  static async open(
    config: KubeConfig,
    credentials: Credentials,
    clock: Clock,
    patience: Patience,
    onGone: (connection: Connection) => void,
  ): Promise<Connection> {
    const url = new URL(config.server);
    const socket =
      url.protocol === "https:"
        ? connectTls(tlsOptions(config, url, credentials))
        : connectTcp({ host: hostOf(url), port: portOf(url) });
    socket.setNoDelay(true);
    const session = connectHttp2(url.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    });
    // Heard for good: one fault may be told by both and twice, and every call fails by itself.
    session.on("error", () => undefined);
    socket.on("error", () => undefined);
    try {
      await ready(session, socket, clock, patience.connectMs);
    } catch (error) {
      session.destroy();
      socket.destroy();
      throw connectFailure(url, error);
    }
    return new Connection(session, credentials, clock, patience, onGone);
  }

  get usable(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  get hasRoom(): boolean {
    return this.#calls < MOST_STREAMS;
  }

  request(headers: Record<string, string>, body: string | undefined, watch: boolean): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers, { endStream: body === undefined });
    } catch (error) {
      this.#retired = true;
      throw new KubeFailure("not-sent", "connection", `the connection is closed: ${String(error)}`, {
        cause: error,
      });
    }
    stream.on("error", () => undefined); // Whoever reads the stream is reported.
    if (this.#calls++ === 0) {
      this.#session.ref();
      this.#keepAlive(this.#patience.pingEveryMs);
    }
    if (watch) this.#watches.add(stream);
    stream.once("close", () => {
      this.#watches.delete(stream);
      if (--this.#calls > 0) return;
      this.#ping?.cancel();
      if (!this.#session.destroyed) this.#session.unref();
      if (this.#retired) this.destroy();
    });
    if (body !== undefined) stream.end(body);
    return stream;
  }

  /** A call timed out: find out whether the server is slow or the connection is dead. */
  suspect(): void {
    if (this.usable && !this.#pinging) this.#keepAlive(0);
  }

  /** Takes no new calls; closes when those under way have ended, or when a ping says it is dead. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.destroy();
  }

  destroy(): void {
    this.#retired = true;
    this.#ping?.cancel();
    if (!this.#session.destroyed) this.#session.destroy();
  }

  #keepAlive(inMs: number): void {
    this.#ping?.cancel();
    this.#ping = this.#clock.timer(inMs, () => this.#pingNow(), { background: true });
  }

  #pingNow(): void {
    // `ping()` throws on a session that is closed.
    if (this.#session.destroyed || this.#session.closed) return;
    this.#pinging = true;
    const late = this.#clock.timer(
      this.#patience.pingAnswerMs,
      () => this.#session.destroy(new Error("no answer to a ping")),
      { background: true },
    );
    this.#ping = late;
    this.#session.ping((error) => {
      late.cancel();
      this.#pinging = false;
      if (error === null && this.#calls > 0) this.#keepAlive(this.#patience.pingEveryMs);
    });
  }
}

/** Resolves when the server's settings have come. TCP, TLS and settings share one timer. */
function ready(session: ClientHttp2Session, socket: Socket, clock: Clock, withinMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(withinMs, () => settle(new Error(`no connection within ${withinMs} ms`)));
    const settle = (error?: Error) => {
      timer.cancel();
      socket.off("error", settle);
      socket.off("secureConnect", onSecure);
      session.off("error", settle);
      session.off("close", onClose);
      session.off("remoteSettings", onSettings);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onClose = () => settle(new Error("the server closed the connection"));
    const onSettings = () => settle();
    const onSecure = () => {
      if (socket instanceof TLSSocket && socket.alpnProtocol !== "h2")
        settle(new Error("the server does not speak HTTP/2"));
    };
    // A TLS alert after the handshake (our certificate was refused) reaches the socket alone.
    socket.on("error", settle);
    socket.on("secureConnect", onSecure);
    session.on("error", settle);
    session.on("close", onClose);
    session.on("remoteSettings", onSettings);
  });
}

function tlsOptions(config: KubeConfig, url: URL, { ca, cert, key }: Credentials): ConnectionOptions {
  const host = hostOf(url);
  const name = config.serverName ?? host;
  return {
    host,
    port: portOf(url),
    ALPNProtocols: ["h2"],
    minVersion: "TLSv1.2",
    // An IP address is verified as such but may not be sent as a server name (RFC 6066).
    servername: isIP(name) === 0 ? name : "",
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(config.insecure && { rejectUnauthorized: false }),
  };
}

function connectFailure(url: URL, error: unknown): KubeFailure {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const message = error instanceof Error && error.message !== "" ? error.message : code;
  const untrusted = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS_CERT|INVALID_CA)/.test(code);
  const why = untrusted ? "untrusted-server" : "connection";
  return new KubeFailure("not-sent", why, `${url.origin}: ${message}`, { cause: error });
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

function portOf(url: URL): number {
  return url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
}
