/**
 * One HTTP/2 connection to one member. It is ready when the server's settings have come (a stopped
 * process accepts TCP but never sends them), holds the process awake only while calls are under way,
 * and pings while streams are open, since a dead peer says nothing.
 */
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type SecureContext } from "node:tls";
import type { Clock, Timer } from "../../seams/clock.ts";
import { RpcFailure, type Endpoint } from "../../seams/etcd-transport.ts";
import type { IdleConnections } from "../idle.ts";
import { connectFailure, hostOf, portOf, tlsOptions } from "./tls.ts";

const CONNECT_TIMEOUT_MS = 3_000;
/** etcd refuses pings that come more often than every 5 s. */
const PING_EVERY_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;
/** One stream may be this far ahead of its reader; a snapshot at full speed needs the room. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;

/** A download ends by itself; a subscription (watch, keep-alive) lasts until one side has enough. */
export type CallKind = "unary" | "download" | "subscription";

export class Connection {
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #idle: IdleConnections | undefined;
  #retired = false;
  #calls = 0;
  #streams = 0;
  #ping: Timer | undefined;
  readonly #subscriptions = new Set<ClientHttp2Stream>();

  private constructor(
    session: ClientHttp2Session,
    clock: Clock,
    onGone: () => void,
    idle: IdleConnections | undefined,
  ) {
    this.#session = session;
    this.#clock = clock;
    this.#idle = idle;
    session.setLocalWindowSize(SESSION_WINDOW);
    session.unref();
    session.once("goaway", () => {
      this.#retired = true;
      onGone();
      // etcd waits seconds for open streams when it is told to stop; ours can go on elsewhere at once.
      for (const stream of this.#subscriptions) stream.close(constants.NGHTTP2_CANCEL);
    });
    session.once("close", () => {
      this.#ping?.cancel();
      idle?.delete(this);
      onGone();
    });
  }

  /** Connects, or rejects with a failure that was not sent. `onGone`: take it out of the pool. */
  static async open(
    endpoint: Endpoint,
    context: SecureContext | undefined,
    clock: Clock,
    onGone: () => void,
    idle?: IdleConnections,
  ): Promise<Connection> {
    const url = new URL(endpoint.url);
    if (url.protocol === "https:" && context === undefined)
      throw new RpcFailure("UNAVAILABLE", "no CA is configured for an https endpoint", "not-sent", {
        tls: "untrusted-server",
      });
    const socket =
      url.protocol === "https:" && context !== undefined
        ? connectTls(tlsOptions(endpoint, context))
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
      await ready(session, socket, clock);
    } catch (error) {
      session.destroy();
      socket.destroy();
      throw connectFailure(error);
    }
    return new Connection(session, clock, onGone, idle);
  }

  get usable(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  /** Begins a call. Those that last are watched over by pings. */
  request(headers: Record<string, string>, kind: CallKind): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers);
    } catch (error) {
      this.#retired = true;
      throw new RpcFailure("UNAVAILABLE", `the connection is closed: ${String(error)}`, "not-sent", {
        cause: error,
      });
    }
    if (this.#calls++ === 0) {
      this.#session.ref();
      this.#idle?.delete(this);
    }
    if (kind !== "unary" && this.#streams++ === 0) this.#keepAlive();
    if (kind === "subscription") this.#subscriptions.add(stream);
    stream.once("close", () => {
      this.#subscriptions.delete(stream);
      if (--this.#calls === 0 && !this.#session.destroyed) this.#session.unref();
      if (kind !== "unary" && --this.#streams === 0 && !this.#retired) this.#ping?.cancel();
      if (this.#calls > 0) return;
      if (this.#retired) this.destroy();
      else if (this.usable) this.#idle?.add(this);
    });
    return stream;
  }

  /** Takes no new calls; closes when those under way have ended, or when a ping says it is dead. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.destroy();
    else this.#keepAlive();
  }

  destroy(): void {
    this.#retired = true;
    this.#ping?.cancel();
    if (!this.#session.destroyed) this.#session.destroy();
  }

  #keepAlive(): void {
    this.#ping?.cancel();
    this.#ping = this.#clock.timer(
      PING_EVERY_MS,
      () => {
        if (this.#session.destroyed || this.#session.closed) return;
        const late = this.#clock.timer(
          PING_TIMEOUT_MS,
          () => this.#session.destroy(new Error("no answer to a ping")),
          {
            background: true,
          },
        );
        this.#ping = late;
        this.#session.ping((error) => {
          late.cancel();
          if (error === null && (this.#streams > 0 || this.#retired)) this.#keepAlive();
        });
      },
      { background: true },
    );
  }
}

/** Resolves when the server's settings have come. TLS and TCP share one timer. */
function ready(session: ClientHttp2Session, socket: Socket, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(CONNECT_TIMEOUT_MS, () =>
      settle(new RpcFailure("UNAVAILABLE", `no connection within ${CONNECT_TIMEOUT_MS} ms`, "not-sent")),
    );
    const settle = (error?: unknown) => {
      timer.cancel();
      socket.off("error", onError);
      session.off("error", onError);
      session.off("close", onClose);
      session.off("remoteSettings", onSettings);
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error(String(error)));
    };
    const onError = (error: Error) => settle(error);
    const onClose = () => settle(new Error("the server closed the connection"));
    const onSettings = () => settle();
    // A TLS alert after the handshake (our certificate was refused) reaches the socket alone.
    socket.on("error", onError);
    session.on("error", onError);
    session.on("close", onClose);
    session.on("remoteSettings", onSettings);
  });
}

/** Whether a stream was refused before the server looked at it. */
export function wasRefused(stream: ClientHttp2Stream): boolean {
  return stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
}
