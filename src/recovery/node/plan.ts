/**
 * The plan to start what a machine holds as a cluster of one member: what it would start from, and the hash that a person
 * approves. The hash stands for the data as it was read: if an etcd wrote there meanwhile, it is another one.
 */
import { createHash } from "node:crypto";
import type { DirectoryFacts } from "../directory.ts";
import type { LogPosition } from "../wal/messages.ts";
import type { MemberFound, SnapshotFound } from "./found.ts";

export interface NodePlan {
  readonly hash: string;
  readonly version: string;
  /** What the new member is called. */
  readonly name: string;
  readonly from:
    | {
        readonly kind: "member";
        readonly dataDir: string;
        readonly expected: {
          readonly clusterID: string;
          readonly memberID: string;
          readonly last: LogPosition;
        };
      }
    | { readonly kind: "snapshot"; readonly file: string; readonly sha256: string };
  readonly revision: { readonly least: number; readonly most: number };
  /** Voters of the former cluster beside this one: what only they had is lost. */
  readonly others: readonly string[];
}

export type DataFacts = Extract<DirectoryFacts, { state: "data" }>;

export function memberPlan({ dataDir, owner }: MemberFound, facts: DataFacts, version: string): NodePlan {
  const { clusterID, memberID, last } = facts.log;
  const { members, revision, consistentIndex } = facts.database;
  const own = members.find(({ id }) => id === memberID);
  const from = { kind: "member", dataDir, expected: { clusterID, memberID, last } } as const;
  return {
    hash: hashOf({ dataDir, clusterID, memberID, term: last.term, index: last.index, version }),
    version,
    name: own?.name || owner?.member || "recovered",
    from,
    revision: { least: revision, most: revision + Math.max(0, last.index - consistentIndex) },
    others: members
      .flatMap(({ id, name, isLearner }) => (id === memberID || isLearner ? [] : [name || id]))
      .toSorted(),
  };
}

export function snapshotPlan({ file, sha256, revision }: SnapshotFound, version: string): NodePlan {
  return {
    hash: hashOf({ sha256, version }),
    version,
    name: "recovered",
    from: { kind: "snapshot", file, sha256 },
    revision: { least: revision, most: revision },
    others: [],
  };
}

function hashOf(of: object): string {
  return createHash("sha256").update(JSON.stringify(of)).digest("hex").slice(0, 16);
}
