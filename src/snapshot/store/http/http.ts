/** One HTTP request, with its answer whole or as a stream. What fails without an answer is a `NetworkError`. */
import * as http from "node:http";
import * as https from "node:https";
import { rootCertificates } from "node:tls";

export interface HttpRequest {
  readonly method: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** With the query, encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
  /** Longest silence. */
  readonly idleMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface HttpStream extends Omit<HttpAnswer, "body"> {
  readonly body: http.IncomingMessage;
}

export class NetworkError extends Error {
  override name = "NetworkError";
}

const IDLE_MS = 60_000;
/** Of a body, handed to the socket at a time: all at once, TLS would keep a second copy of all of it. */
const WRITE_BYTES = 256 * 1024;
/** Errors and listings are small; objects are streamed. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** Connections that are kept open between requests, with the authorities that they trust. */
export class HttpClient {
  /** With the public authorities too: tokens come from elsewhere than the endpoint that the certificates are of. */
  static forTokens(ca: string | undefined): HttpClient {
    return new HttpClient(ca === undefined ? undefined : [...rootCertificates, ca]);
  }

  readonly #secure: https.Agent;
  readonly #plain: http.Agent;

  constructor(ca?: string | readonly string[]) {
    const options = { keepAlive: true, maxSockets: 16 };
    this.#secure = new https.Agent({ ...options, ...(ca !== undefined && { ca: [ca].flat() }) });
    this.#plain = new http.Agent(options);
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const url = new URL(request.origin);
    const secure = url.protocol === "https:";
    const idleMs = request.idleMs ?? IDLE_MS;
    const options: https.RequestOptions = {
      method: request.method,
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port === "" ? (secure ? 443 : 80) : Number(url.port),
      path: request.path,
      headers: {
        ...request.headers,
        ...((request.body !== undefined || request.method === "PUT" || request.method === "POST") && {
          "content-length": String(request.body?.length ?? 0),
        }),
      },
      agent: secure ? this.#secure : this.#plain,
      signal: request.signal,
      timeout: idleMs,
    };
    return await new Promise((resolve, reject) => {
      let begun: http.IncomingMessage | undefined;
      const call = (secure ? https : http).request(options, (answer) => {
        begun = answer;
        answer.on("error", () => undefined); // Whoever reads it sees it.
        // Answered before all was sent: the rest is not wanted, and its bytes may be others by the time it would go.
        answer.once("end", () => {
          if (!call.writableFinished) call.destroy();
        });
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer });
      });
      call.on("timeout", () => {
        const silence = new NetworkError(`no answer from ${url.host} for ${idleMs} ms`);
        // Who reads an answer that has begun is told why it ends.
        begun?.destroy(silence);
        call.destroy(silence);
      });
      call.on("error", (error: NodeJS.ErrnoException) =>
        reject(request.signal.aborted ? asError(request.signal.reason) : networkError(error, url.host)),
      );
      send(call, request.body);
    });
  }

  async whole(request: HttpRequest): Promise<HttpAnswer> {
    const { status, headers, body } = await this.stream(request);
    const parts: Buffer[] = [];
    let size = 0;
    try {
      for await (const part of body as AsyncIterable<Buffer>) {
        size += part.length;
        if (size > LARGEST_ANSWER)
          throw new NetworkError(`the answer is larger than ${LARGEST_ANSWER} bytes`);
        parts.push(part);
      }
    } catch (error) {
      if (request.signal.aborted) throw asError(request.signal.reason);
      throw networkError(error, request.origin);
    }
    return { status, headers, body: Buffer.concat(parts) };
  }

  /** Connections under way end with their requests; idle ones at once. */
  close(): void {
    this.#secure.destroy();
    this.#plain.destroy();
  }
}

function send(call: http.ClientRequest, body: Uint8Array | undefined, at = 0): void {
  if (body === undefined || body.length - at <= WRITE_BYTES) call.end(body?.subarray(at));
  else
    call.write(body.subarray(at, at + WRITE_BYTES), (error) => {
      if (!error) send(call, body, at + WRITE_BYTES);
    });
}

export function networkError(error: unknown, host: string): NetworkError {
  if (error instanceof NetworkError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  return new NetworkError(`${host}: ${message === "" ? (code ?? "no connection") : message}`, {
    cause: error,
  });
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason ?? "aborted"));
}
