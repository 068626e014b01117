/**
 * The real `KubeTransport`: JSON over HTTP/2. Connections are shared by all calls, made anew when a server says
 * goodbye, dies or our credentials change. Repeated here is only what cannot hurt: a call that never left, or a
 * read that was cut off, once; and what was refused for a token that has been replaced since.
 */
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import type { Patience } from "../http2/connection.ts";
import { secureContext } from "../http2/dial.ts";
import { ended } from "../http2/failure.ts";
import { Pool, type Begun } from "../http2/pool.ts";
import { brokenOff, chunksOf, readAll } from "../http2/stream.ts";
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
import type { Programs } from "../seams/programs.ts";
import type { KubeConfig } from "./config.ts";
import { impersonationHeaders } from "./credentials/impersonate.ts";
import { asFailure } from "./failure.ts";
import { Identity, type Credentials } from "./identity.ts";
import { JsonLines } from "./json-lines.ts";
import { TextLines } from "./text-lines.ts";
import { upgrade, type Upgraded } from "./upgrade.ts";

const PATIENCE: Patience = { connectMs: 5_000, pingEveryMs: 5_000, pingAnswerMs: 5_000 };
/** The API server allows 100; what goes beyond would wait behind watches, which do not end. */
const MOST_STREAMS = 80;
/** An upgrade goes on to a node and its container runtime. */
const UPGRADE_MS = 15_000;

export type KubeLinesResponse =
  | { readonly ok: false; readonly response: KubeResponse }
  /** Iterating throws `KubeFailure`; leaving the loop ends the stream. */
  | { readonly ok: true; readonly lines: AsyncIterable<string> };

export interface TransportOptions {
  readonly config: KubeConfig;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly userAgent?: string;
  readonly patience?: Patience;
  /** What runs credential plugins. */
  readonly programs?: Programs;
}

interface Call extends Begun {
  readonly credentials: Credentials;
}

export class Http2Transport implements KubeTransport {
  readonly #options: TransportOptions;
  readonly #identity: Identity;
  readonly #base: string;
  readonly #pool: Pool;

  constructor(options: TransportOptions) {
    const { config, clock, disk, patience = PATIENCE, programs } = options;
    this.#options = options;
    this.#identity = new Identity(config, disk, clock, programs);
    this.#base = new URL(config.server).pathname.replace(/\/$/, "");
    this.#pool = new Pool({ clock, patience, mostStreams: MOST_STREAMS });
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

  /** A request whose answer is text that may not end, such as the log of a Pod: line by line. */
  async lines(request: KubeRequest, { signal }: KubeCallOptions): Promise<KubeLinesResponse> {
    return await this.#repeatable<KubeLinesResponse>(request, signal, async ({ stream }) => {
      const head = await headers(stream, signal);
      if (head.status >= 400) {
        const response = await exchange(stream, signal, head);
        return { status: head.status, value: { ok: false, response } };
      }
      return { status: head.status, value: { ok: true, lines: readLines(stream, signal) } };
    });
  }

  /**
   * Obtains credentials, however long that takes: behind a plugin a person may have to log in, which must not count as
   * the time of a call.
   */
  async login(): Promise<Credentials> {
    return await this.#identity.credentials();
  }

  /** A GET that turns its connection into something else, on one of its own. */
  async upgrade(
    { path, query = {} }: Pick<KubeRequest, "path" | "query">,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Upgraded> {
    const { config, clock, userAgent = "kube", patience = PATIENCE } = this.#options;
    for (let tries = 0; ; tries++) {
      const credentials = await this.#credentials(signal);
      const answer = await upgrade({
        target: { ...config, url: config.server },
        context: secureContext(credentials),
        ca: credentials.ca,
        path: `${this.#base}${path}?${new URLSearchParams(query).toString()}`,
        headers: { ...headers, "user-agent": userAgent, ...authorization(config, credentials) },
        clock,
        connectMs: patience.connectMs + UPGRADE_MS,
        signal,
      }).catch((error: unknown) => {
        throw notBegun(config, error);
      });
      const refused = !answer.ok && answer.response.status === 401;
      if (!refused || tries > 0 || !(await this.#replaced(credentials))) return answer;
    }
  }

  close(): Promise<void> {
    this.#pool.close();
    return Promise.resolve();
  }

  /** Connections not yet closed; for tests that look for leaks. */
  get connections(): number {
    return this.#pool.size;
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
        const replaced = status === 401 && tries === 0 && (await this.#replaced(call.credentials));
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

  async #replaced(refused: Credentials): Promise<boolean> {
    try {
      return await this.#identity.refused(refused);
    } catch (error) {
      throw withoutCredentials(error);
    }
  }

  /** A call does not wait for a plugin beyond its own end; who waits next finds what the plugin gave. */
  async #credentials(signal: AbortSignal): Promise<Credentials> {
    return await new Promise((resolve, reject) => {
      const onAbort = () => reject(ended(signal, "not-sent"));
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      this.#identity
        .credentials()
        .then(resolve, (error: unknown) => reject(withoutCredentials(error)))
        .finally(() => signal.removeEventListener("abort", onAbort));
    });
  }

  async #begin(request: KubeRequest, signal: AbortSignal): Promise<Call> {
    const { config, userAgent = "kube" } = this.#options;
    const credentials = await this.#credentials(signal);
    const query = new URLSearchParams(request.query ?? {}).toString();
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const headers = {
      ":method": request.method,
      ":path": `${this.#base}${request.path}${query === "" ? "" : `?${query}`}`,
      accept: request.accept ?? "application/json",
      "user-agent": userAgent,
      ...(body !== undefined && { "content-type": request.contentType ?? "application/json" }),
      ...authorization(config, credentials),
    };
    const kind = {
      pinged: true,
      lasting: request.query?.["watch"] !== undefined,
      bodiless: body === undefined,
    };
    try {
      this.#pool.setCredentials(credentials);
      const begun = await this.#pool.begin({ ...config, url: config.server }, headers, kind, signal);
      if (body !== undefined) begun.stream.end(body);
      return { ...begun, credentials };
    } catch (error) {
      throw notBegun(config, error);
    }
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
async function exchange(stream: ClientHttp2Stream, signal: AbortSignal, known?: Head): Promise<KubeResponse> {
  const chunks: Uint8Array[] = [];
  let head = known;
  stream.on("response", (received) => {
    head = headOf(received);
  });
  const { whole, cause } = await readAll(stream, signal, (chunk) => chunks.push(chunk));
  if (!whole || head === undefined) throw brokenOff(stream, cause);
  return responseOf(head, Buffer.concat(chunks).toString("utf8"));
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
  try {
    for await (const chunk of chunksOf(stream, signal)) yield* lines.push(chunk);
    const torn = (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR;
    if (lines.pending || torn) throw brokenOff(stream, undefined);
  } catch (error) {
    throw asFailure(error);
  }
}

/** A token goes with each request; certificates belong to the connection. */
function authorization(
  { impersonate }: KubeConfig,
  { token }: Credentials,
): Record<string, string | string[]> {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...impersonationHeaders(impersonate),
  };
}

async function* readLines(stream: ClientHttp2Stream, signal: AbortSignal): AsyncGenerator<string> {
  const lines = new TextLines();
  try {
    for await (const chunk of chunksOf(stream, signal)) yield* lines.push(chunk);
    yield* lines.end();
    if ((stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR) throw brokenOff(stream, undefined);
  } catch (error) {
    throw asFailure(error);
  }
}

/** Nothing was done: the server refused the call, or it was never made. */
function withoutCredentials(error: unknown): KubeFailure {
  const message = error instanceof Error ? error.message : String(error);
  return new KubeFailure("not-sent", "connection", message, { cause: error });
}

/** No connection, or one that takes no calls. */
function notBegun(config: KubeConfig, error: unknown): KubeFailure {
  const failure = asFailure(error);
  if (failure.why === "cancelled" || failure.why === "timeout") return failure;
  const message = `${new URL(config.server).origin}: ${failure.message}`;
  return new KubeFailure("not-sent", failure.why, message, { cause: error });
}
