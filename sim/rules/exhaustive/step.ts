/** One edge of the search, and what ends it: a state that must not be, or a step that must not be taken. */
import type { State } from "./state.ts";

export interface Step {
  readonly label: string;
  readonly next: State;
}

export class Broken extends Error {
  override name = "Broken";
  readonly invariant: string;
  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}
