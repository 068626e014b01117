/** Mutants that change nothing anybody could see, each with the reason. Counted apart, and looked at when a line moves. */

export interface Equivalent {
  readonly file: string;
  /** The text of its line, and what becomes of it, as the list of survivors tells it. */
  readonly at: string;
  readonly what: string;
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [];
