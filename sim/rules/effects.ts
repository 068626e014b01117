/**
 * Every write an operator makes, counted: the places where it can die, and where an answer can get lost.
 * An effect is one write at a seam, so that "after every effect" can be enumerated.
 */
import type { EffectFaults } from "../driver/enumerate.ts";

/** The operator's process ends here; nothing after this line of its code happens. */
export class OperatorCrash extends Error {
  override name = "OperatorCrash";
}

/** Done, but whoever asked never hears of it. */
export class ReplyLost extends Error {
  override name = "ReplyLost";
}

export class Effects {
  count = 0;
  readonly names: string[] = [];
  readonly #faults: EffectFaults;

  constructor(faults: EffectFaults = {}) {
    this.#faults = faults;
  }

  run<T>(name: string, effect: () => T): T {
    const result = effect();
    const number = ++this.count;
    this.names.push(name);
    if (this.#faults.crashAfter?.has(number)) throw new OperatorCrash(`after effect ${number}: ${name}`);
    if (this.#faults.loseReplyOf?.has(number))
      throw new ReplyLost(`answer to effect ${number} lost: ${name}`);
    return result;
  }
}
