/** Which of several data directories knows most: by the term of its last entry, then by its index, as raft compares logs. */
import type { DirectoryFacts } from "./directory.ts";
import type { LogPosition } from "./wal/messages.ts";

export type Newest =
  | { readonly kind: "one"; readonly index: number }
  /** Their logs end alike. */
  | { readonly kind: "several"; readonly indexes: readonly number[] }
  /** They cannot be compared. */
  | { readonly kind: "different-clusters" }
  | { readonly kind: "none" };

export function comparePositions(a: LogPosition, b: LogPosition): number {
  return a.term - b.term || a.index - b.index;
}

export function newest(directories: readonly DirectoryFacts[]): Newest {
  const logs = directories.flatMap((facts, index) =>
    facts.state === "data" ? [{ index, last: facts.log.last, clusterID: facts.log.clusterID }] : [],
  );
  const [best] = logs.toSorted((a, b) => comparePositions(b.last, a.last));
  if (best === undefined) return { kind: "none" };
  if (logs.some(({ clusterID }) => clusterID !== best.clusterID)) return { kind: "different-clusters" };
  const equal = logs.filter(({ last }) => comparePositions(last, best.last) === 0);
  return equal.length === 1
    ? { kind: "one", index: best.index }
    : { kind: "several", indexes: equal.map(({ index }) => index) };
}
