/**
 * Whether our clock can be trusted, held against the API server's. A difference is told, in steps, so that the status
 * does not change with every second; and no certificate is issued by a clock that is off by more than what
 * certificates are backdated by, since others might not take it.
 */
import type { ServerTime } from "../kube/server-time.ts";
import { BACKDATE_MS } from "../pki/plan.ts";
import type { Clock } from "../seams/clock.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is told, with how it is said. */
const STEPS = [
  { aboveMs: 30 * SECOND, said: "30 s" },
  { aboveMs: 5 * MINUTE, said: "5 min" },
  { aboveMs: HOUR, said: "1 h" },
  { aboveMs: 24 * HOUR, said: "1 day" },
] as const;
/** Once told, a step is left at this part of it: a Date is known to a second only. */
const LEFT_AT = 0.9;

export interface Skew {
  readonly said: string;
  readonly direction: "ahead of" | "behind";
}

export class ClockSkew {
  readonly #clock: Pick<Clock, "now">;
  readonly #server: Pick<ServerTime, "now" | "aheadMs">;
  #step = -1;

  constructor(clock: Pick<Clock, "now">, server: Pick<ServerTime, "now" | "aheadMs">) {
    this.#clock = clock;
    this.#server = server;
  }

  get aheadMs(): number | undefined {
    return this.#server.aheadMs();
  }

  /** What there is to tell; undefined while the clocks agree well enough, or nothing is known. */
  get skew(): Skew | undefined {
    const aheadMs = this.aheadMs ?? 0;
    const off = Math.abs(aheadMs);
    this.#step = STEPS.findLastIndex(({ aboveMs }, index) =>
      index <= this.#step ? off > aboveMs * LEFT_AT : off > aboveMs,
    );
    const step = STEPS[this.#step];
    return step && { said: step.said, direction: aheadMs > 0 ? "ahead of" : "behind" };
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
