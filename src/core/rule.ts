/** What a rule is: the list of them, and their order, is in decide.ts. */
import type { Outcome } from "./action.ts";
import type { View } from "./view.ts";

/** A rule sees the whole view and says what it would do, what must wait, or nothing. */
export type Rule = (view: View) => readonly Outcome[];
