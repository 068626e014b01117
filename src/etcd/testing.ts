/**
 * For the tests beside these files: a clock that moves when told, and a transport whose answers are
 * written by the test.
 */
import { create, type DescMessage, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import type { Clock, Timer } from "../seams/clock.ts";
import {
  RpcFailure,
  type Endpoint,
  type EtcdTransport,
  type GrpcCode,
  type RpcOptions,
} from "../seams/etcd-transport.ts";
import { callName } from "./caller.ts";

export class ManualClock implements Clock {
  #now = 0;
  #timers: { at: number; fire: () => void }[] = [];

  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#now;
  }
  timer(ms: number, fire: () => void): Timer {
    const timer = { at: this.#now + ms, fire };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== timer)) };
  }
  get pending(): number {
    return this.#timers.length;
  }

  /** Lets `ms` pass, firing what falls due, with a turn of the event loop before and after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await turn();
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = next.at;
      next.fire();
    }
    this.#now = end;
    await turn();
  }
}

/** Lets everything that is ready to run do so. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export interface Sent {
  readonly call: string;
  readonly endpoint: string;
  readonly request: unknown;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An answer as a message's fields, a failure, or silence until the deadline. */
export type Script = (sent: Sent, options: RpcOptions) => object | RpcFailure | "silence";
/** What a stream delivers; a failure ends it, "silence" leaves it open. */
export type StreamScript = (
  sent: Sent,
  requests: readonly unknown[],
) => readonly (object | RpcFailure | "silence")[];

export class FakeTransport implements EtcdTransport {
  readonly sent: Sent[] = [];
  readonly #script: Script;
  readonly #streams: StreamScript;

  constructor(script: Script, streams: StreamScript = () => []) {
    this.#script = script;
    this.#streams = streams;
  }

  unary: EtcdTransport["unary"] = async (call, endpoint, request, options) => {
    const sent = this.#note(call, endpoint, request, options);
    const answer = this.#script(sent, options);
    if (answer === "silence") await aborted(options.signal);
    if (answer instanceof RpcFailure) throw answer;
    return create<DescMessage>(call.output, answer as MessageInitShape<DescMessage>) as never;
  };

  stream: EtcdTransport["stream"] = (call, endpoint, options) => {
    const requests: unknown[] = [];
    const deliver = async function* (this: FakeTransport): AsyncGenerator<never> {
      for (const answer of this.#streams(this.#note(call, endpoint, requests[0], options), requests)) {
        if (answer instanceof RpcFailure) throw answer;
        if (answer === "silence") await aborted(options.signal);
        yield create<DescMessage>(call.output, answer as MessageInitShape<DescMessage>) as never;
      }
    }.bind(this);
    return {
      send: (request) => void requests.push(request),
      end: () => undefined,
      cancel: () => undefined,
      [Symbol.asyncIterator]: deliver,
    };
  };

  close(): Promise<void> {
    return Promise.resolve();
  }

  #note(call: DescMethod, endpoint: Endpoint, request: unknown, options: RpcOptions): Sent {
    const sent = {
      call: callName(call),
      endpoint: endpoint.name ?? endpoint.url,
      request,
      metadata: options.metadata ?? {},
    };
    this.sent.push(sent);
    return sent;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(new RpcFailure("CANCELLED", "ended by us", "interrupted"));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** What etcd itself answers. */
export function refused(code: GrpcCode, message: string): RpcFailure {
  return new RpcFailure(code, `etcdserver: ${message}`, "answered");
}

export const notSent = () => new RpcFailure("UNAVAILABLE", "connect ECONNREFUSED", "not-sent");
export const interrupted = () => new RpcFailure("UNAVAILABLE", "read ECONNRESET", "interrupted");

export function endpoints(...names: string[]): Endpoint[] {
  return names.map((name) => ({ name, url: `http://${name}:2379` }));
}
