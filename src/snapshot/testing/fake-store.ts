/**
 * For tests: an object store on loopback that keeps objects in memory and fails on purpose: connections cut or silent
 * in the middle of a request or an answer, refusals, lost answers, wrong bytes, no conditional writes. What it speaks is
 * for those below it.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { KeyPair } from "../../seams/pki.ts";

export interface Faults {
  /** Answers `status` to so many requests. */
  errors: number;
  status: number;
  /** Requests are answered so only after so many bytes of bodies have gone either way: credentials that expire. */
  errorsAfter: number;
  /** Where the connection ends, in bytes of bodies that have gone either way. */
  cutAt: number | undefined;
  /** So often: after the first time at the next byte. */
  cuts: number;
  /** There it is silent for so long instead. */
  stallMs: number | undefined;
  /** Turns a bit of the objects that match, at this offset, whenever it is read. */
  flipAt: number | undefined;
  flipping: (request: IncomingMessage) => boolean;
  /** Cuts so many answers of GET in the middle. */
  cutReads: number;
  /** Does what it is asked to and cuts the connection instead of answering, so many times; for matching requests. */
  loseAnswers: number;
  losing: (request: IncomingMessage) => boolean;
  /** Cuts so many requests before their body has come. */
  cutWrites: number;
  unconditional: boolean;
}

export interface Reply {
  readonly status: number;
  readonly body: Buffer;
  readonly headers?: Record<string, string>;
}

export abstract class FakeStore implements AsyncDisposable {
  readonly objects = new Map<string, Buffer>();
  readonly requests: string[] = [];
  /** Of each request. */
  readonly headers: IncomingHttpHeaders[] = [];
  readonly faults: Faults = {
    errors: 0,
    status: 500,
    errorsAfter: 0,
    cutAt: undefined,
    cuts: 1,
    stallMs: undefined,
    flipAt: undefined,
    flipping: () => true,
    cutReads: 0,
    loseAnswers: 0,
    losing: () => true,
    cutWrites: 0,
    unconditional: false,
  };
  /** Bytes of bodies that have gone either way. */
  passed = 0;
  /** Connections in a silence of `stallMs`. */
  silent = 0;
  readonly #server;
  readonly #secure: boolean;

  constructor(tls?: KeyPair) {
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    this.#secure = tls !== undefined;
    this.#server = tls
      ? createTlsServer({ key: tls.key, cert: tls.certificate }, serve)
      : createServer(serve);
  }

  protected abstract handle(request: IncomingMessage, url: URL, body: Buffer): Reply;
  /** How the store says 500, 403 (access denied) or 507 (full). */
  protected abstract failure(status: number): Reply;
  /** Uploads that were begun and neither finished nor given up. */
  abstract get pending(): number;

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get endpoint(): string {
    return `http${this.#secure ? "s" : ""}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends also those that are silent. */
  closeConnections(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    this.headers.push(request.headers);
    if (request.method === "PUT" && this.faults.cutWrites > 0) {
      this.faults.cutWrites--;
      request.socket.destroy();
      return;
    }
    // Tokens come from elsewhere, which does not fail.
    const isToken = url.pathname === "/token";
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) {
        parts.push(part);
        const crossing = isToken ? undefined : this.#crossing(part.length);
        if (crossing !== undefined && !(await this.#break(request))) return;
      }
    } catch {
      return; // The client ended it.
    }
    const { errors, errorsAfter } = this.faults;
    if (errors > 0 && this.passed >= errorsAfter && !isToken) {
      this.faults.errors--;
      answer(response, this.failure(this.faults.status), request.method === "HEAD");
      return;
    }
    const done = this.#flipped(request, this.handle(request, url, Buffer.concat(parts)));
    if (this.faults.loseAnswers > 0 && this.faults.losing(request)) {
      this.faults.loseAnswers--;
      request.socket.destroy();
      return;
    }
    if (request.method === "GET" && done.status < 300 && this.faults.cutReads > 0 && done.body.length > 10) {
      this.faults.cutReads--;
      response.writeHead(done.status, { ...done.headers, "content-length": done.body.length });
      response.write(done.body.subarray(0, Math.floor(done.body.length / 2)), () => request.socket.destroy());
      return;
    }
    const crossing = request.method === "GET" ? this.#crossing(done.body.length) : undefined;
    if (crossing !== undefined) {
      response.writeHead(done.status, { ...done.headers, "content-length": done.body.length });
      await new Promise((resolve) => response.write(done.body.subarray(0, crossing), resolve));
      if (await this.#break(request)) response.end(done.body.subarray(crossing));
      return;
    }
    answer(response, done, request.method === "HEAD");
  }

  /** Where in the next bytes the connection is to break, if it is. */
  #crossing(length: number): number | undefined {
    const from = this.passed;
    this.passed += length;
    const { cutAt } = this.faults;
    if (cutAt === undefined || cutAt < from || cutAt >= this.passed) return undefined;
    this.faults.cutAt = --this.faults.cuts > 0 ? this.passed : undefined;
    return cutAt - from;
  }

  /** Whether the connection is still there afterwards. */
  async #break({ socket }: IncomingMessage): Promise<boolean> {
    const { stallMs } = this.faults;
    if (stallMs === undefined) socket.destroy();
    else {
      this.silent++;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, stallMs);
        // Whether the client closes it or resets it.
        socket.once("close", () => {
          clearTimeout(timer);
          resolve();
        });
      });
      this.silent--;
    }
    return !socket.destroyed;
  }

  #flipped(request: IncomingMessage, reply: Reply): Reply {
    const { flipAt, flipping } = this.faults;
    const start = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const at = (flipAt ?? -1) - start;
    if (
      request.method !== "GET" ||
      reply.status >= 300 ||
      at < 0 ||
      at >= reply.body.length ||
      !flipping(request)
    )
      return reply;
    const body = Buffer.from(reply.body);
    body[at] = (body[at] ?? 0) ^ 1;
    return { ...reply, body };
  }
}

/** The part of an object that a request asks for. */
export function ranged(request: IncomingMessage, found: Buffer, headers: Record<string, string>): Reply {
  const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (start === undefined) return { status: 200, body: found, headers };
  return { status: 206, body: found.subarray(Number(start), end ? Number(end) + 1 : undefined), headers };
}

/** Two names at a time, from where the last page ended. */
export function page(
  objects: ReadonlyMap<string, Buffer>,
  prefix: string,
  from: number,
): { names: string[]; next: number | undefined } {
  const names = [...objects.keys()].filter((name) => name.startsWith(prefix)).toSorted();
  return { names: names.slice(from, from + 2), next: from + 2 < names.length ? from + 2 : undefined };
}

function answer(response: ServerResponse, { status, body, headers }: Reply, bodiless = false): void {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(bodiless ? undefined : body);
}
