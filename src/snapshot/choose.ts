/**
 * Which member sends the snapshot. A follower, so that the leader keeps its disk and network for clients; but a fresh
 * one, since a snapshot holds what its member has applied. Without quorum, the survivor that has applied most.
 */
import { describe } from "../etcd/endpoints.ts";
import { formatId } from "../etcd/id.ts";
import type { MemberStatus } from "../etcd/types.ts";
import type { Endpoint } from "../seams/etcd-transport.ts";

/** What an endpoint answered to Status. */
export type Candidate =
  | { readonly endpoint: Endpoint; readonly status: MemberStatus }
  | { readonly endpoint: Endpoint; readonly error: unknown };

export type Usable = Extract<Candidate, { status: MemberStatus }>;

/** A member so many entries behind the best is not fresh: a busy cluster writes as many in a tenth of a second. */
const FRESH_ENTRIES = 1_000n;

export class NoMemberError extends Error {
  override name = "NoMemberError";
}

/** The members that can send a snapshot, best first. Throws when there is none. */
export function orderCandidates(candidates: readonly Candidate[]): readonly Usable[] {
  const answered = candidates.filter((one): one is Usable => "status" in one);
  const clusters = new Map(
    answered.map(({ endpoint, status }) => [status.header.clusterId, describe(endpoint)] as const),
  );
  if (clusters.size > 1)
    throw new NoMemberError(
      `the endpoints belong to different clusters (${[...clusters].map(([id, at]) => `${formatId(id)} at ${at}`).join(", ")}): pass those of one cluster`,
    );
  const sound = answered.filter(({ status }) => !isCorrupt(status));
  if (sound.length === 0) throw new NoMemberError(whyNone(candidates, answered.length));
  // A learner may still be on its way to the data it should have.
  const voters = sound.filter(({ status }) => !status.isLearner);
  const eligible = voters.length > 0 ? voters : sound;
  const newest = eligible.reduce((most, { status }) => max(most, status.raftAppliedIndex), 0n);
  const isFresh = ({ status }: Usable) => newest - status.raftAppliedIndex <= FRESH_ENTRIES;
  const rank = (one: Usable) => (!isFresh(one) ? 2 : one.status.isLeader ? 1 : 0);
  return eligible.toSorted(
    (a, b) => rank(a) - rank(b) || compare(b.status.raftAppliedIndex, a.status.raftAppliedIndex),
  );
}

function isCorrupt({ errors }: MemberStatus): boolean {
  return errors.some((error) => /\bCORRUPT\b/.test(error));
}

function whyNone(candidates: readonly Candidate[], answered: number): string {
  if (answered > 0)
    return "every member that answered has the alarm CORRUPT, so its data is not to be trusted: replace the corrupt member first";
  const reasons = candidates.map((one) =>
    "error" in one
      ? `${describe(one.endpoint)}: ${one.error instanceof Error ? one.error.message : String(one.error)}`
      : "",
  );
  return `no endpoint answered (${reasons.join("; ")}): check the endpoints, the certificates and that etcd runs`;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
