/** Mutants that change nothing anybody could see, each with the reason. Counted apart, and looked at when a line moves. */

export interface Equivalent {
  readonly file: string;
  /** As the list of survivors tells it. */
  readonly what: string;
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [];
