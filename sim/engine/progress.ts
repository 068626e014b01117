/** How far a long run is, on stderr every few seconds, and how fast it was, at its end: real time, told to people. */
import process from "node:process";
import { systemClock } from "../../src/seams/clock.ts";

const EVERY_MS = 5_000;

export class Progress {
  readonly #began = systemClock.monotonic();
  readonly #of: string;
  #reported = 0;
  #runs = 0;
  #events = 0;
  #passes = 0;

  /** `of`: what is counted, and how many there will be, where that is known. */
  constructor(of: string) {
    this.#of = of;
  }

  add({ runs = 1, events, passes }: { runs?: number; events: number; passes: number }): void {
    this.#runs += runs;
    this.#events += events;
    this.#passes += passes;
    const elapsed = systemClock.monotonic() - this.#began;
    if (elapsed - this.#reported < EVERY_MS) return;
    this.#reported = elapsed;
    process.stderr.write(
      `${(elapsed / 1_000).toFixed(0).padStart(5)} s  ${this.#runs} ${this.#of}, ${this.rates}\n`,
    );
  }

  /** What was found, at once: a long run may be worth ending for it. */
  tell(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  get seconds(): number {
    return (systemClock.monotonic() - this.#began) / 1_000;
  }

  get rates(): string {
    const { seconds } = this;
    const per = (count: number) => `${count} (${Math.round(count / seconds)}/s)`;
    return `passes ${per(this.#passes)}, events ${per(this.#events)}`;
  }

  /** The line at the end. */
  total(threads = 1): string {
    return `${this.rates}, ${this.seconds.toFixed(1)} s on ${threads} ${threads === 1 ? "thread" : "threads"}`;
  }
}
