/** Faults that last: each ends by itself after its time, or when all faults end. */
import type { OperatorSimulation } from "./simulation.ts";

export class Lasting {
  readonly #sim: OperatorSimulation;
  readonly #undos = new Set<() => void>();

  constructor(sim: OperatorSimulation) {
    this.#sim = sim;
  }

  get size(): number {
    return this.#undos.size;
  }

  add(ms: number, undo: () => void): void {
    this.#undos.add(undo);
    this.#sim.env.scheduler.after(ms, () => {
      if (this.#undos.delete(undo)) undo();
    });
  }

  /** The same for what keeps operators from seeing or telling anything meanwhile. */
  impede(ms: number, undo: () => void): void {
    this.#sim.impediments++;
    this.add(ms, () => {
      this.#sim.impediments--;
      undo();
    });
  }

  end(): void {
    for (const undo of this.#undos) undo();
    this.#undos.clear();
  }
}
