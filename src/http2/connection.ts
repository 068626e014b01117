/**
 * One HTTP/2 connection. It holds the process awake only while calls are under way, and pings while there are calls
 * that want it: a peer that vanished says nothing, and a watch would wait on it for ever.
 */
import {
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock, Timer } from "../seams/clock.ts";
import { Http2Failure } from "./failure.ts";
import type { Idle } from "./idle.ts";

/** How long a peer may be silent before it counts as gone. */
export interface Patience {
  readonly connectMs: number;
  readonly pingEveryMs: number;
  readonly pingAnswerMs: number;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly patience: Patience;
  /** Streams at a time; without it, as many as come. */
  readonly mostStreams?: number;
  /** Shared with others; without it, a connection that nobody uses stays open. */
  readonly idle?: Idle | undefined;
}

/** What a call wants of its connection. */
export interface CallKind {
  /** Pings watch over it. */
  readonly pinged: boolean;
  /** It has no end of its own (a watch): after a goodbye it is ended, to go on elsewhere at once. */
  readonly lasting: boolean;
  /** No body follows the headers. */
  readonly bodiless: boolean;
}

export class Connection {
  readonly #session: ClientHttp2Session;
  readonly #options: ConnectionOptions;
  readonly #lasting = new Set<ClientHttp2Stream>();
  #retired = false;
  #calls = 0;
  #pinged = 0;
  #ping: Timer | undefined;
  /** A ping is on its way, and its answer decides. */
  #pinging = false;

  /** `onRetired`: takes no new calls; `onClosed`: is gone. */
  constructor(
    session: ClientHttp2Session,
    options: ConnectionOptions,
    { onRetired, onClosed }: { onRetired: () => void; onClosed: () => void },
  ) {
    this.#session = session;
    this.#options = options;
    session.unref();
    session.once("goaway", () => {
      this.#retired = true;
      onRetired();
      // A server that shuts down waits for streams that do not end; ours end here, in order.
      for (const stream of this.#lasting) stream.close(constants.NGHTTP2_NO_ERROR);
    });
    session.once("close", () => {
      this.#retired = true;
      this.#stopPings();
      options.idle?.delete(this);
      onRetired();
      onClosed();
    });
  }

  get usable(): boolean {
    return !this.#retired && !this.#session.closed && !this.#session.destroyed;
  }

  get hasRoom(): boolean {
    return this.#calls < (this.#options.mostStreams ?? Infinity);
  }

  request(headers: OutgoingHttpHeaders, { pinged, lasting, bodiless }: CallKind): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers, { endStream: bodiless });
    } catch (error) {
      this.#retired = true;
      const message = `the connection is closed: ${String(error)}`;
      throw new Http2Failure("not-sent", "connection", message, { cause: error });
    }
    stream.on("error", () => undefined); // Whoever reads the stream sees it.
    if (this.#calls++ === 0) {
      this.#session.ref();
      this.#options.idle?.delete(this);
    }
    if (pinged && this.#pinged++ === 0) this.#keepAlive();
    if (lasting) this.#lasting.add(stream);
    stream.once("close", () => {
      this.#lasting.delete(stream);
      if (pinged) this.#pinged--;
      this.#calls--;
      if (!this.#wantsPings && !this.#pinging) this.#stopPings();
      if (this.#calls > 0) return;
      if (!this.#session.destroyed) this.#session.unref();
      if (this.#retired) this.destroy();
      else if (this.usable) this.#options.idle?.add(this);
    });
    return stream;
  }

  /** A call timed out: find out whether the server is slow or the connection is dead. */
  suspect(): void {
    if (!this.usable || this.#pinging) return;
    this.#stopPings();
    this.#pingNow();
  }

  /** Takes no new calls; closes when those under way have ended, or when a ping says it is dead. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.destroy();
    else if (this.#ping === undefined) this.#keepAlive();
  }

  destroy(): void {
    this.#retired = true;
    this.#stopPings();
    if (!this.#session.destroyed) this.#session.destroy();
  }

  get #wantsPings(): boolean {
    return this.#pinged > 0 || (this.#retired && this.#calls > 0);
  }

  #stopPings(): void {
    this.#ping?.cancel();
    this.#ping = undefined;
  }

  #keepAlive(): void {
    if (this.#pinging) return;
    const { clock, patience } = this.#options;
    this.#ping = clock.timer(patience.pingEveryMs, () => this.#pingNow(), { background: true });
  }

  #pingNow(): void {
    // `ping()` throws on a session that is closed.
    if (this.#session.destroyed || this.#session.closed) return;
    const { clock, patience } = this.#options;
    const late = () => this.#session.destroy(new Error("no answer to a ping"));
    this.#pinging = true;
    this.#ping = clock.timer(patience.pingAnswerMs, late, { background: true });
    this.#session.ping((error) => {
      this.#pinging = false;
      this.#stopPings();
      if (error === null && this.#wantsPings) this.#keepAlive();
    });
  }
}
