/** Why a change log cannot be followed or replayed, as a word that code compares and a sentence that says what to do. */

export type ChangeLogFault =
  /** A segment is not what was written: its hash, its structure, or its name. */
  | "damaged"
  /** Revisions are missing between segments, or there twice and not the same. */
  | "gap"
  /** A segment or snapshot of another cluster. */
  | "other-cluster"
  /** The cluster was restored under the same ID: what is recorded is no longer its past. */
  | "set-back"
  /** Users, roles or the switch of authentication changed on the way, or nobody knows. */
  | "auth"
  /** No snapshot and log lead there. */
  | "unreachable"
  /** What was replayed came out otherwise than it was recorded. */
  | "differs"
  /** A lease expired during a replay; another attempt may succeed. */
  | "expired"
  /** Another minor version of etcd wrote the snapshot than would replay the changes. */
  | "version"
  | "unsupported";

export class ChangeLogError extends Error {
  override name = "ChangeLogError";
  readonly fault: ChangeLogFault;
  constructor(fault: ChangeLogFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}
