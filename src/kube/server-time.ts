/**
 * What time it is at the API server, from the Date of its answers and the monotonic time since: so that a wall clock
 * which is wrong, or is set while we run, can be reported from the server's at any moment.
 */
import type { Clock } from "../seams/clock.ts";
import type { KubeTransport } from "../seams/kube-transport.ts";

/** An answer that took longer says too little about when it was written. */
const SLOW_MS = 2_000;
/** A Date has whole seconds: it was written half a second later, on average. */
const HALF_MS = 500;

export class ServerTime {
  readonly #clock: Clock;
  /** The server's time, at a moment of the monotonic clock. */
  #heard: { readonly server: number; readonly at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server's time now; undefined before it was heard. */
  now(): number | undefined {
    return this.#heard && this.#heard.server + this.#clock.monotonic() - this.#heard.at;
  }

  /** How far our wall clock is ahead of the server's; negative when it is behind. */
  aheadMs(): number | undefined {
    const server = this.now();
    return server === undefined ? undefined : this.#clock.now() - server;
  }

  /** Hears every answer that goes through. */
  listening(transport: KubeTransport): KubeTransport {
    return {
      request: async (request, options) => {
        const asked = this.#clock.monotonic();
        const response = await transport.request(request, options);
        if (response.date !== undefined) this.#hear(response.date, asked);
        return response;
      },
      stream: (request, options) => transport.stream(request, options),
      close: () => transport.close(),
    };
  }

  #hear(date: number, asked: number): void {
    const answered = this.#clock.monotonic();
    if (answered - asked <= SLOW_MS) this.#heard = { server: date + HALF_MS, at: (asked + answered) / 2 };
  }
}
