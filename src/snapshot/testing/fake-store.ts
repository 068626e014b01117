/**
 * For tests: an object store on loopback that keeps objects in memory and fails on purpose: connections cut in the
 * middle of a request or an answer, 500s, lost answers, no conditional writes. What it speaks is for those below it.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Faults {
  /** Answers 500 to so many requests. */
  errors: number;
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
  readonly faults: Faults = {
    errors: 0,
    cutReads: 0,
    loseAnswers: 0,
    losing: () => true,
    cutWrites: 0,
    unconditional: false,
  };
  readonly #server = createServer((request, response) => {
    void this.#serve(request, response);
  });

  protected abstract handle(request: IncomingMessage, url: URL, body: Buffer): Reply;
  /** What a request that fails on purpose is answered with. */
  protected abstract failure(): Buffer;
  /** Uploads that were begun and neither finished nor given up. */
  abstract get pending(): number;

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://fake");
    this.requests.push(`${request.method} ${url.pathname}${url.search}`);
    if (request.method === "PUT" && this.faults.cutWrites > 0) {
      this.faults.cutWrites--;
      request.socket.destroy();
      return;
    }
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      return; // The client ended it.
    }
    if (this.faults.errors > 0) {
      this.faults.errors--;
      answer(response, { status: 500, body: this.failure() });
      return;
    }
    const done = this.handle(request, url, Buffer.concat(parts));
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
    answer(response, done, request.method === "HEAD");
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
