/**
 * One direction of a proxied connection. What is held back is kept in order and never lost, as TCP would
 * keep sending it: a partition makes bytes late or lets the connection time out, it does not garble it.
 */
import type { Socket } from "node:net";

export interface Conditions {
  readonly blocked: boolean;
  readonly delayMs: number;
  /** Infinity: as fast as it goes. */
  readonly bytesPerSecond: number;
}

/** More is not read ahead. */
const MOST_HELD = 256 * 1024;

export class Pipe {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #conditions: () => Conditions;
  readonly #held: { readonly chunk: Buffer; readonly at: number }[] = [];
  #bytes = 0;
  #ended = false;
  #freeAt = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, conditions: () => Conditions) {
    this.#from = from;
    this.#to = to;
    this.#conditions = conditions;
    from.on("data", (chunk: Buffer) => {
      this.#held.push({ chunk, at: performance.now() });
      this.#bytes += chunk.length;
      this.look();
    });
    from.on("end", () => {
      this.#ended = true;
      this.look();
    });
    to.on("drain", () => this.look());
    from.on("close", () => clearTimeout(this.#timer));
  }

  /** Conditions may have changed, or time has passed. */
  look(): void {
    clearTimeout(this.#timer);
    if (this.#from.destroyed || this.#to.destroyed) return;
    const now = performance.now();
    const { blocked, delayMs, bytesPerSecond } = this.#conditions();
    while (!blocked && !this.#to.writableNeedDrain) {
      const [next] = this.#held;
      if (next === undefined) break;
      const due = Math.max(next.at + delayMs, this.#freeAt);
      if (due > now) {
        this.#timer = setTimeout(() => this.look(), due - now);
        break;
      }
      this.#held.shift();
      this.#bytes -= next.chunk.length;
      if (bytesPerSecond !== Number.POSITIVE_INFINITY)
        this.#freeAt = now + (next.chunk.length / bytesPerSecond) * 1_000;
      this.#to.write(next.chunk);
    }
    if (blocked || this.#bytes > MOST_HELD || this.#to.writableNeedDrain) this.#from.pause();
    else this.#from.resume();
    if (this.#ended && this.#held.length === 0 && !blocked) this.#to.end();
  }
}
