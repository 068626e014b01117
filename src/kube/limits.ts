/**
 * Bounds on what we ask of the API server: so many calls a second, so many under way, so many waiting. Protects
 * the server (and our own share of it) from a loop gone wild; what keeps a lease goes past all of it.
 */
import { Http2Failure } from "../http2/failure.ts";
import { Gate } from "../http2/gate.ts";
import type { Clock } from "../seams/clock.ts";
import type { KubeCallOptions, KubeRequest, KubeTransport } from "../seams/kube-transport.ts";
import { asFailure } from "./failure.ts";

export interface Limits {
  /** Calls a second in the long run. */
  readonly perSecond: number;
  /** Calls that may come at once after a quiet time. */
  readonly burst: number;
  /** Calls under way; watches, which do not end, count until they are open. */
  readonly concurrent: number;
  /** Calls that may wait; more are refused. */
  readonly waiting: number;
}

export const DEFAULT_LIMITS: Limits = { perSecond: 50, burst: 200, concurrent: 32, waiting: 2_000 };

export function limited(
  transport: KubeTransport,
  clock: Clock,
  limits: Limits = DEFAULT_LIMITS,
): KubeTransport {
  const gate = new Gate(clock, limits);
  const passing = async <T>(options: KubeCallOptions, call: () => Promise<T>): Promise<T> => {
    if (options.urgent === true) return await call();
    try {
      using _place = await gate.enter(options.signal);
      return await call();
    } catch (error) {
      throw error instanceof Http2Failure ? asFailure(error) : error;
    }
  };
  return {
    request: (request: KubeRequest, options) => passing(options, () => transport.request(request, options)),
    stream: (request: KubeRequest, options) => passing(options, () => transport.stream(request, options)),
    close: () => transport.close(),
  };
}
