/** The clocks of nodes, each as far ahead of the API server's as it was set. */
export class ModelNodeClocks {
  readonly #serverNow: () => number;
  readonly #aheadMs = new Map<string, number>();
  /** Called when one is set. */
  onSet: () => void = () => {};

  constructor(serverNow: () => number) {
    this.#serverNow = serverNow;
  }

  /** What the clock of a node shows. */
  now(node: string | undefined): number {
    return this.#serverNow() + this.aheadMs(node);
  }

  aheadMs(node: string | undefined): number {
    return this.#aheadMs.get(node ?? "") ?? 0;
  }

  set(node: string, aheadMs: number): void {
    this.#aheadMs.set(node, aheadMs);
    this.onSet();
  }

  /** Where one is off by more than that, somebody sets it right. */
  correct(mostMs: number): void {
    for (const [node, aheadMs] of this.#aheadMs) if (Math.abs(aheadMs) > mostMs) this.set(node, 0);
  }
}
