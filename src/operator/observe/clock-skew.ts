/**
 * Whether our clock can be trusted, held against the API server's. A difference is reported, in steps, so that the status
 * does not change with every second; and no certificate is issued by a clock that is off by more than what
 * certificates are backdated by, since others might not take it.
 */
import type { ServerTime } from "../../kube/server-time.ts";
import { BACKDATE_MS } from "../../pki/plan.ts";
import type { Clock } from "../../seams/clock.ts";
import { SkewSteps, type Skew } from "./skew-steps.ts";

export class ClockSkew {
  readonly #clock: Pick<Clock, "now">;
  readonly #server: Pick<ServerTime, "now" | "aheadMs">;
  readonly #steps = new SkewSteps();

  constructor(clock: Pick<Clock, "now">, server: Pick<ServerTime, "now" | "aheadMs">) {
    this.#clock = clock;
    this.#server = server;
  }

  get aheadMs(): number | undefined {
    return this.#server.aheadMs();
  }

  /** What there is to tell; undefined while the clocks agree well enough, or nothing is known. */
  get skew(): Skew | undefined {
    return this.#steps.of(this.aheadMs);
  }

  get warning(): string | undefined {
    const { skew } = this;
    return (
      skew && `The operator's clock is more than ${skew.said} ${skew.direction} the API server's. ${CURE}`
    );
  }

  /** Why no certificate may be issued now. */
  get contradiction(): string | undefined {
    if (!this.#contradicts) return undefined;
    const direction = (this.aheadMs ?? 0) > 0 ? "ahead of" : "behind";
    return `Certificates are not issued while the operator's clock is more than 1 h ${direction} the API server's. ${CURE}`;
  }

  /** The time to judge certificates by: ours, unless it contradicts the server's. */
  now(): number {
    const server = this.#server.now();
    return this.#contradicts && server !== undefined ? server : this.#clock.now();
  }

  /** The time that objects of the API server are to be compared with. */
  serverNow(): number {
    return this.#server.now() ?? this.#clock.now();
  }

  get #contradicts(): boolean {
    return Math.abs(this.aheadMs ?? 0) > BACKDATE_MS;
  }
}

const CURE = "Check the time synchronization (NTP) of the nodes that they run on";
