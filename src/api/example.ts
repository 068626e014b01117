/** A bad spec for a rule, and a good one. */

export interface Example {
  /** What the bad one does wrong. */
  readonly title: string;
  /** Where the error is reported. */
  readonly path: string;
  /** Put on top of a minimal cluster. */
  readonly bad: Change;
  /** The same, put right. Absent where the minimal cluster is. */
  readonly good?: Change;
  /** The cluster before the change, for rules about changes. */
  readonly old?: Change;
}

export type Change = { readonly name?: string; readonly spec?: Record<string, unknown> };
