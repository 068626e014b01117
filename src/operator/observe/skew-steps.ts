/** How a difference between two clocks is reported: in steps, so that a status does not change with every second. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is reported, with how it is said. */
const STEPS = [
  { aboveMs: 30 * SECOND, said: "30 s" },
  { aboveMs: 5 * MINUTE, said: "5 min" },
  { aboveMs: HOUR, said: "1 h" },
  { aboveMs: 24 * HOUR, said: "1 day" },
] as const;
/** Once told, a step is left at this part of it: differences are known to a second or two only. */
const LEFT_AT = 0.9;

export interface Skew {
  readonly said: string;
  readonly direction: "ahead of" | "behind";
}

/** Of one pair of clocks. */
export class SkewSteps {
  #step = -1;

  /** Undefined while the clocks agree well enough, or nothing is known. */
  of(aheadMs = 0): Skew | undefined {
    const off = Math.abs(aheadMs);
    this.#step = STEPS.findLastIndex(({ aboveMs }, index) =>
      index <= this.#step ? off > aboveMs * LEFT_AT : off > aboveMs,
    );
    const step = STEPS[this.#step];
    return step && { said: step.said, direction: aheadMs > 0 ? "ahead of" : "behind" };
  }
}
