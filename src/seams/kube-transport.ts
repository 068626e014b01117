/**
 * Talking to a Kubernetes API server as a port. Requests and answers are objects; the real transport
 * (`src/kube/transport.ts`) turns them into JSON over HTTP/2, the simulator answers with objects and no bytes.
 */

export type KubeMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface KubeRequest {
  readonly method: KubeMethod;
  /** Without the query: `/api/v1/namespaces/default/pods/web`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Of the body; `application/json` when absent. Tells the kinds of patch apart. */
  readonly contentType?: string;
  /** What the answer should be; `application/json` when absent. */
  readonly accept?: string;
}

export interface KubeCallOptions {
  /** Ends the call. The caller's deadline is in here. */
  readonly signal: AbortSignal;
  /** Goes past our own limits: what keeps a lease must not wait behind a flood of ordinary calls. */
  readonly urgent?: boolean;
}

/** What the server said, be it success or not. */
export interface KubeResponse {
  readonly status: number;
  /** The answer's object; a text when the server (or a proxy before it) did not answer with JSON. */
  readonly body: unknown;
  /** When the server wants to be asked again. */
  readonly retryAfterMs?: number;
  /** When it was written, by the server's clock: milliseconds since the epoch, in whole seconds. */
  readonly date?: number;
}

export type KubeStreamResponse =
  | { readonly ok: false; readonly response: KubeResponse }
  /** Iterating reads one object after another and throws `KubeFailure`; leaving the loop ends the stream. */
  | { readonly ok: true; readonly objects: AsyncIterable<unknown> };

export interface KubeTransport {
  /** Resolves with any answer of the server; rejects with `KubeFailure` when none came. */
  request(request: KubeRequest, options: KubeCallOptions): Promise<KubeResponse>;
  /** A request whose answer is a stream of objects (a watch). */
  stream(request: KubeRequest, options: KubeCallOptions): Promise<KubeStreamResponse>;
  /** Ends every call and lets go of every connection. */
  close(): Promise<void>;
}

/**
 * How far a call got that has no answer. `not-sent`: no byte of it left, so it has not happened;
 * `interrupted`: it was sent, and only looking can tell whether it happened.
 */
export type KubeProgress = "not-sent" | "interrupted";

/** Why no answer came, as far as it matters for what to do next. */
export type KubeFailureCause = "cancelled" | "timeout" | "untrusted-server" | "overloaded" | "connection";

export class KubeFailure extends Error {
  override name = "KubeFailure";
  readonly progress: KubeProgress;
  readonly why: KubeFailureCause;
  constructor(progress: KubeProgress, why: KubeFailureCause, message: string, options?: ErrorOptions) {
    super(message, options);
    this.progress = progress;
    this.why = why;
  }
}
