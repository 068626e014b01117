/** A bound on what is under way at once, first come first served, and on how many may wait. */
import { RpcFailure } from "../../seams/etcd-transport.ts";

export class Gate {
  readonly #limit: number;
  readonly #mostWaiting: number;
  #busy = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limit: number, mostWaiting: number) {
    this.#limit = limit;
    this.#mostWaiting = mostWaiting;
  }

  get idle(): boolean {
    return this.#busy === 0;
  }

  /** A place; give it back by disposing. Rejects when the signal aborts first or the queue is full. */
  async enter(signal: AbortSignal): Promise<Disposable> {
    if (signal.aborted) throw new RpcFailure("CANCELLED", "ended before it began", "not-sent");
    if (this.#busy < this.#limit) {
      this.#busy++;
      return this.#place();
    }
    if (this.#waiting.size >= this.#mostWaiting)
      throw new RpcFailure(
        "RESOURCE_EXHAUSTED",
        `${this.#busy} calls are under way and ${this.#waiting.size} wait`,
        "not-sent",
      );
    return await new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener("abort", leave);
        resolve(this.#place());
      };
      const leave = () => {
        this.#waiting.delete(admit);
        reject(new RpcFailure("CANCELLED", "ended while waiting for a place", "not-sent"));
      };
      this.#waiting.add(admit);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #place(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        const [next] = this.#waiting;
        if (next === undefined) this.#busy--;
        else {
          this.#waiting.delete(next);
          next();
        }
      },
    };
  }
}
