/** What a raft log is made of. Entries are objects shared by all logs that hold them, compared by identity. */
import type { AuthOp } from "./auth.ts";

export type AlarmName = "NOSPACE" | "CORRUPT";

export type KeyOp =
  | { readonly kind: "put"; readonly key: string; readonly size: number; readonly value?: Uint8Array }
  | { readonly kind: "delete"; readonly from: string; readonly to?: string };

export type Op =
  | { readonly kind: "election" }
  /** A restored database begins with it: revisions that were never used, all of them compacted. */
  | { readonly kind: "raise"; readonly by: number }
  | {
      readonly kind: "add";
      readonly id: string;
      readonly name: string;
      readonly peerURLs: readonly string[];
      readonly isLearner: boolean;
    }
  | { readonly kind: "promote"; readonly id: string }
  | { readonly kind: "remove"; readonly id: string }
  | { readonly kind: "update"; readonly id: string; readonly peerURLs: readonly string[] }
  | {
      readonly kind: "publish";
      readonly id: string;
      readonly name: string;
      readonly clientURLs: readonly string[];
    }
  | { readonly kind: "cluster-version"; readonly version: string }
  | { readonly kind: "downgrade"; readonly target?: string }
  | KeyOp
  /** All of it or nothing, in one revision. */
  | { readonly kind: "txn"; readonly ops: readonly KeyOp[] }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "auth"; readonly op: AuthOp }
  | { readonly kind: "alarm"; readonly raise: boolean; readonly id: string; readonly alarm: AlarmName };

export interface Entry {
  readonly term: number;
  /** From 1. */
  readonly index: number;
  readonly op: Op;
  /** A request of the v2 store, as 3.4 and 3.5 write for their members: 3.7 cannot read it (R12, H5). */
  readonly legacy: boolean;
}

export function isLegacy(op: Op, writerMinor: number): boolean {
  return writerMinor < 3006 && (op.kind === "publish" || op.kind === "cluster-version");
}

/** The founders' first entries are equal in every founder's log, again after a wiped founder starts over. */
const founding = new Map<string, readonly Entry[]>();

export function foundingEntries(
  clusterID: string,
  members: readonly { id: string; name: string; peerURL: string }[],
): readonly Entry[] {
  const key = `${clusterID} ${members.map((member) => `${member.id}=${member.name}`).join(" ")}`;
  let entries = founding.get(key);
  if (entries === undefined) {
    entries = members.map(({ id, name, peerURL }, i) => ({
      term: 1,
      index: i + 1,
      op: { kind: "add", id, name, peerURLs: [peerURL], isLearner: false },
      legacy: false,
    }));
    founding.set(key, entries);
  }
  return entries;
}
