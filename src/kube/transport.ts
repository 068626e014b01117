/**
 * The real `KubeTransport`: JSON over HTTP/2. Connections are shared by all calls, made anew when a server says
 * goodbye, dies or our credentials change. Repeated here is only what cannot hurt: a call that never left, or a
 * read that was cut off, once; and what was refused for a token that has been replaced since.
 */
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { DeadlineExceeded, type Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import {
  KubeFailure,
  type KubeCallOptions,
  type KubeRequest,
  type KubeResponse,
  type KubeStreamResponse,
  type KubeTransport,
} from "../seams/kube-transport.ts";
import type { KubeConfig } from "./config.ts";
import { Connection, PATIENCE, type Patience } from "./connection.ts";
import { Identity, type Credentials } from "./identity.ts";
import { JsonLines } from "./json-lines.ts";

export interface TransportOptions {
  readonly config: KubeConfig;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly userAgent?: string;
  readonly patience?: Patience;
}

interface Call {
  readonly connection: Connection;
  readonly stream: ClientHttp2Stream;
  readonly credentials: Credentials;
}

export class Http2Transport implements KubeTransport {
  readonly #options: TransportOptions;
  readonly #identity: Identity;
  readonly #base: string;
  readonly #pool = new Set<Connection>();
  readonly #alive = new Set<Connection>();
  #opening: Promise<Connection> | undefined;
  #closed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#identity = new Identity(options.config, options.disk, options.clock);
    this.#base = new URL(options.config.server).pathname.replace(/\/$/, "");
  }

  async request(request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse> {
    return await this.#repeatable(request, options.signal, async (call) => {
      const response = await exchange(call.stream, options.signal);
      return { status: response.status, value: response };
    });
  }

  async stream(request: KubeRequest, options: KubeCallOptions): Promise<KubeStreamResponse> {
    return await this.#repeatable<KubeStreamResponse>(request, options.signal, async (call) => {
      const { stream } = call;
      const head = await headers(stream, options.signal);
      if (head.status >= 400) {
        const response = await exchange(stream, options.signal, head);
        return { status: head.status, value: { ok: false, response } };
      }
      const objects = readObjects(stream, options.signal);
      return { status: head.status, value: { ok: true, objects } };
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#pool.clear();
    for (const connection of this.#alive) connection.destroy();
    this.#alive.clear();
    return Promise.resolve();
  }

  /** Connections not yet closed; for tests that look for leaks. */
  get connections(): number {
    return this.#alive.size;
  }

  async #repeatable<T>(
    request: KubeRequest,
    signal: AbortSignal,
    perform: (call: Call) => Promise<{ status: number; value: T }>,
  ): Promise<T> {
    for (let tries = 0; ; tries++) {
      let call: Call | undefined;
      try {
        call = await this.#begin(request, signal);
        const { status, value } = await perform(call);
        const replaced = status === 401 && tries === 0 && (await this.#identity.refused(call.credentials));
        if (!replaced) return value;
      } catch (error) {
        if (signal.reason instanceof DeadlineExceeded) call?.connection.suspect();
        const failure = asFailure(error);
        const harmless = failure.progress === "not-sent" || request.method === "GET";
        const cutOff = failure.why === "connection" && call !== undefined;
        if (tries > 0 || !harmless || !cutOff || signal.aborted) throw failure;
      }
    }
  }

  async #begin(request: KubeRequest, signal: AbortSignal): Promise<Call> {
    if (signal.aborted) throw ended(signal, "not-sent");
    const credentials = await this.#identity.credentials().catch((error: unknown) => {
      throw new KubeFailure("not-sent", "connection", (error as Error).message, { cause: error });
    });
    for (;;) {
      const pooled = this.#pooled(credentials);
      const connection = pooled ?? (await abortable(this.#open(credentials), signal));
      // Others waited for the same one and were quicker.
      if (!connection.hasRoom) continue;
      try {
        return { connection, stream: this.#send(connection, request, credentials), credentials };
      } catch (error) {
        // It had died unnoticed and is not in the pool any more; nothing was sent.
        if (pooled === undefined) throw error;
      }
    }
  }

  #send(connection: Connection, request: KubeRequest, credentials: Credentials): ClientHttp2Stream {
    const query = new URLSearchParams(request.query ?? {}).toString();
    const { userAgent = "kube" } = this.#options;
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    return connection.request(
      {
        ":method": request.method,
        ":path": `${this.#base}${request.path}${query === "" ? "" : `?${query}`}`,
        accept: request.accept ?? "application/json",
        "user-agent": userAgent,
        ...(body !== undefined && { "content-type": request.contentType ?? "application/json" }),
        ...(credentials.token !== undefined && { authorization: `Bearer ${credentials.token}` }),
      },
      body,
      request.query?.["watch"] !== undefined,
    );
  }

  #pooled(credentials: Credentials): Connection | undefined {
    for (const connection of this.#pool) {
      // A token goes with each request; certificates belong to the connection.
      const { ca, cert, key } = connection.credentials;
      const same = ca === credentials.ca && cert === credentials.cert && key === credentials.key;
      if (!connection.usable || !same) {
        this.#pool.delete(connection);
        if (!same) connection.retire();
      } else if (connection.hasRoom) return connection;
    }
    return undefined;
  }

  /** One at a time: a burst of calls after a loss must not become a burst of connections. */
  async #open(credentials: Credentials): Promise<Connection> {
    if (this.#closed) throw new KubeFailure("not-sent", "cancelled", "the transport is closed");
    this.#opening ??= this.#connect(credentials).finally(() => {
      this.#opening = undefined;
    });
    return await this.#opening;
  }

  async #connect(credentials: Credentials): Promise<Connection> {
    const { config, clock, patience = PATIENCE } = this.#options;
    const connection = await Connection.open(config, credentials, clock, patience, (gone) => {
      this.#pool.delete(gone);
      if (!gone.usable) this.#alive.delete(gone);
    });
    this.#alive.add(connection);
    if (this.#closed) connection.destroy();
    else this.#pool.add(connection);
    return connection;
  }
}

interface Head {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly date: number | undefined;
  readonly json: boolean;
}

function headOf(headers: IncomingHttpHeaders & { ":status"?: number }): Head {
  const seconds = Number(headers["retry-after"]);
  const date = Date.parse(headers.date ?? "");
  return {
    status: headers[":status"] ?? 0,
    retryAfterMs: headers["retry-after"] !== undefined && seconds >= 0 ? seconds * 1_000 : undefined,
    date: Number.isNaN(date) ? undefined : date,
    json: headers["content-type"]?.includes("json") ?? false,
  };
}

/** Resolves with the answer's beginning. */
function headers(stream: ClientHttp2Stream, signal: AbortSignal): Promise<Head> {
  return new Promise((resolve, reject) => {
    let cause: unknown;
    const onAbort = () => {
      reject(ended(signal, "interrupted"));
      stream.close(constants.NGHTTP2_CANCEL);
    };
    stream.once("error", (error) => {
      cause = error;
    });
    stream.once("response", (received) => {
      signal.removeEventListener("abort", onAbort);
      resolve(headOf(received));
    });
    stream.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      reject(brokenOff(stream, cause));
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** The whole answer. */
function exchange(stream: ClientHttp2Stream, signal: AbortSignal, known?: Head): Promise<KubeResponse> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let head = known;
    let whole = false;
    let cause: unknown;
    const onAbort = () => {
      // Not left to "close": a peer that reads nothing any more would keep it from coming.
      reject(ended(signal, "interrupted"));
      stream.close(constants.NGHTTP2_CANCEL);
    };
    stream.on("response", (received) => {
      head = headOf(received);
    });
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("error", (error) => {
      cause = error;
    });
    stream.once("end", () => {
      whole = true;
    });
    stream.once("close", () => {
      signal.removeEventListener("abort", onAbort);
      if (!whole || head === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR) {
        reject(brokenOff(stream, cause));
        return;
      }
      try {
        resolve(responseOf(head, Buffer.concat(chunks).toString("utf8")));
      } catch (error) {
        reject(asFailure(error));
      }
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

function responseOf(head: Head, text: string): KubeResponse {
  const body: unknown = head.json && text !== "" ? JSON.parse(text) : text;
  return {
    status: head.status,
    body,
    ...(head.retryAfterMs !== undefined && { retryAfterMs: head.retryAfterMs }),
    ...(head.date !== undefined && { date: head.date }),
  };
}

async function* readObjects(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<unknown> {
  const lines = new JsonLines();
  let torn = false;
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    for await (const chunk of stream as AsyncIterable<Uint8Array>) yield* lines.push(chunk);
    torn = (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
  } catch (error) {
    throw signal.aborted ? ended(signal, "interrupted") : brokenOff(stream, error);
  } finally {
    signal.removeEventListener("abort", onAbort);
    // Reached the end, failed, or the reader left its loop: in any case nothing more is wanted.
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
  if (signal.aborted) throw ended(signal, "interrupted");
  if (lines.pending || torn) throw brokenOff(stream, undefined);
}

function brokenOff(stream: ClientHttp2Stream, cause: unknown): KubeFailure {
  // Refused: the server says that it has not looked at it.
  const progress = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ? "not-sent" : "interrupted";
  const why =
    cause instanceof Error ? cause.message : "the connection closed before the response was complete";
  return new KubeFailure(progress, "connection", why, { cause });
}

function ended(signal: AbortSignal, progress: "not-sent" | "interrupted"): KubeFailure {
  const late = signal.reason instanceof DeadlineExceeded;
  const message = late ? signal.reason.message : "cancelled by the client";
  return new KubeFailure(progress, late ? "timeout" : "cancelled", message, { cause: signal.reason });
}

function asFailure(error: unknown): KubeFailure {
  if (error instanceof KubeFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new KubeFailure("interrupted", "connection", message, { cause: error });
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return await new Promise((resolve, reject) => {
    const onAbort = () => reject(ended(signal, "not-sent"));
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
