/**
 * A small Kubernetes client for the testbed and its tests: JSON requests over kept-alive connections.
 * It retries nothing and hides nothing; the product has its own client, which this one must not share bugs with.
 */
import { Agent, request as httpsRequest } from "node:https";
import { request as httpRequest } from "node:http";
import type { IncomingMessage } from "node:http";
import type { Access } from "./kubeconfig.ts";

/** What every object has; the rest is the caller's business. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: {
    name?: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    generation?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    creationTimestamp?: string;
    finalizers?: string[];
  };
}

/** An answer of the API server other than success. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export interface CallOptions {
  contentType?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
}

export const MERGE_PATCH = "application/merge-patch+json";
export const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
export const APPLY_PATCH = "application/apply-patch+yaml";

export class Client {
  readonly access: Access;
  readonly #agent: Agent | undefined;

  constructor(access: Access) {
    this.access = access;
    this.#agent = access.server.startsWith("https:")
      ? new Agent({ keepAlive: true, ...tls(access) })
      : undefined;
  }

  get<T = KubeObject>(path: string, options?: CallOptions): Promise<T> {
    return this.call<T>("GET", path, undefined, options);
  }

  create<T extends object>(path: string, body: T): Promise<T> {
    return this.call<T>("POST", path, body);
  }

  replace<T extends object>(path: string, body: T): Promise<T> {
    return this.call<T>("PUT", path, body);
  }

  patch<T = KubeObject>(path: string, body: object, contentType = MERGE_PATCH): Promise<T> {
    return this.call<T>("PATCH", path, body, { contentType });
  }

  /** Server-side apply: JSON is YAML. */
  apply<T = KubeObject>(path: string, body: object, fieldManager = "testbed"): Promise<T> {
    return this.call<T>("PATCH", `${path}?fieldManager=${fieldManager}&force=true`, body, {
      contentType: APPLY_PATCH,
    });
  }

  /** Deletes; an object that is already gone is success. */
  async delete(path: string, body: object = {}): Promise<void> {
    await this.call("DELETE", path, body).catch((error: unknown) => {
      if (!isCode(error, 404)) throw error;
    });
  }

  async call<T>(method: string, path: string, body?: object, options: CallOptions = {}): Promise<T> {
    const response = await this.open(method, path, body, options);
    const text = await readAll(response);
    if (response.headers["content-type"]?.includes("json")) return JSON.parse(text) as T;
    return text as T;
  }

  /** Sends a request and resolves with its streaming answer, or rejects with the server's refusal. */
  open(method: string, path: string, body?: object, options: CallOptions = {}): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = new URL(path, this.access.server);
      const payload = body === undefined ? undefined : JSON.stringify(body);
      const headers: Record<string, string> = { accept: "application/json" };
      if (payload !== undefined) headers["content-type"] = options.contentType ?? "application/json";
      // Node adds none to a DELETE, and its body would be read as the connection's next request.
      if (payload !== undefined) headers["content-length"] = String(Buffer.byteLength(payload));
      if (this.access.token) headers["authorization"] = `Bearer ${this.access.token}`;
      const send = this.#agent ? httpsRequest : httpRequest;
      const request = send(url, {
        method,
        headers,
        ...(this.#agent && { agent: this.#agent }),
        ...(options.signal && { signal: options.signal }),
      });
      // Idle time-out: a stuck server must not hang a test. Streams pass 0.
      request.setTimeout(options.timeoutMs ?? 30_000, () =>
        request.destroy(
          new Error(`${method} ${url.pathname}: no answer within ${options.timeoutMs ?? 30_000} ms`),
        ),
      );
      request.once("error", reject);
      request.once("response", (response) => {
        if ((response.statusCode ?? 500) < 400) resolve(response);
        else void refuse(method, url, response).catch(reject);
      });
      request.end(payload);
    });
  }

  /** Closes idle connections; the client must not be used afterwards. */
  close(): void {
    this.#agent?.destroy();
  }
}

function tls(access: Access): object {
  return {
    ...(access.ca && { ca: access.ca }),
    ...(access.cert && { cert: access.cert }),
    ...(access.key && { key: access.key }),
    ...(access.serverName && { servername: access.serverName }),
    ...(access.insecure && { rejectUnauthorized: false }),
  };
}

async function refuse(method: string, url: URL, response: IncomingMessage): Promise<never> {
  const text = await readAll(response);
  let status: { message?: string; reason?: string } = {};
  try {
    status = JSON.parse(text) as typeof status;
  } catch {
    status.message = text;
  }
  const code = response.statusCode ?? 500;
  throw new ApiError(code, status.reason ?? "", `${method} ${url.pathname}: ${code} ${status.message ?? ""}`);
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

export function isCode(error: unknown, ...codes: number[]): boolean {
  return error instanceof ApiError && codes.includes(error.code);
}
