/** What can go wrong between a client and the API server, set for requests to come. */
import type { KubeRequest, KubeResponse } from "../../../src/seams/kube-transport.ts";
import { refusal } from "./refusal.ts";

export type Fault =
  /** Nothing is sent. */
  | { readonly kind: "unreachable" }
  /** The connection is lost, before the request was looked at or after it was done. */
  | { readonly kind: "cut"; readonly done: boolean }
  /** No answer ever comes; the client's deadline ends it. */
  | { readonly kind: "silent"; readonly done: boolean }
  /** Another answer than the true one; with `done`, though it happened. */
  | { readonly kind: "answer"; readonly done: boolean; readonly response: KubeResponse }
  | { readonly kind: "delay"; readonly ms: number };

/** Which requests a fault is for. */
export type Aim = (who: string, request: KubeRequest) => boolean;

export function happensAnyway(fault: Fault): boolean {
  return fault.kind === "delay" || ("done" in fault && fault.done);
}

export const faults = {
  unreachable: { kind: "unreachable" },
  /** Lost on the way there. */
  lost: { kind: "cut", done: false },
  /** Done, and the answer lost. */
  replyLost: { kind: "cut", done: true },
  silent: { kind: "silent", done: false },
  silentAfter: { kind: "silent", done: true },
  busy: (seconds: number): Fault => ({
    kind: "answer",
    done: false,
    response: refusal(429, "TooManyRequests", "too many requests, please try again later", {
      retryAfterSeconds: seconds,
    }),
  }),
  broken: {
    kind: "answer",
    done: false,
    response: refusal(500, "InternalError", "an error on the server prevented the request from succeeding"),
  },
  unavailable: {
    kind: "answer",
    done: false,
    response: refusal(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
  },
  /** The server gave up on its answer, not on the work. */
  timedOut: {
    kind: "answer",
    done: true,
    response: refusal(504, "Timeout", "request did not complete within the allotted timeout"),
  },
} as const satisfies Record<string, Fault | ((seconds: number) => Fault)>;

export class Faults {
  readonly #planned: { readonly fault: Fault; readonly aim: Aim; left: number }[] = [];

  /** The next `times` requests that `aim` is true for go wrong. */
  plan(fault: Fault, aim: Aim = () => true, times = 1): void {
    this.#planned.push({ fault, aim, left: times });
  }

  clear(): void {
    this.#planned.length = 0;
  }

  next(who: string, request: KubeRequest): Fault | undefined {
    const index = this.#planned.findIndex(({ aim }) => aim(who, request));
    const planned = this.#planned[index];
    if (planned === undefined) return undefined;
    if (--planned.left <= 0) this.#planned.splice(index, 1);
    return planned.fault;
  }
}
