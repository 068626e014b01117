/**
 * The pause before a container is started again: none at first, then `first`, doubling up to `max`; forgotten
 * after a run of twice `max`, as kubelets do (with 10 s and 5 min; ours are shorter by default).
 */
export class Backoff {
  readonly #first: number;
  readonly #max: number;
  #next = 0;

  constructor(first: number, max: number) {
    this.#first = first;
    this.#max = max;
  }

  /** The container has run for `ms`. */
  ran(ms: number): void {
    if (ms >= 2 * this.#max) this.#next = 0;
  }

  next(): number {
    const now = this.#next;
    this.#next = Math.min(this.#max, now === 0 ? this.#first : now * 2);
    return now;
  }
}
