/**
 * What the cluster and its members were seen to hold, so that one that comes back empty under its old identity is
 * known (H3). Two laws tell it from a crash. A read through quorum never returns an older revision than one that was
 * seen before. And a log is written before it counts: a process that starts again is behind by its last few entries
 * at most. Half of either is the bound, so that a corrupt copy whose revision ran ahead of the others' makes nobody
 * look empty. Beyond this process' life the status keeps the highest revision. Somebody may have put older data back
 * by hand: a person can accept what is there, and everything is measured by that from then on.
 */
import type { EtcdClusterStatus } from "../api/etcd-cluster-status.ts";
import { acceptingWord } from "../core/assess/approvals.ts";
import type { RevisionLook } from "../core/facts/etcd-facts.ts";
import type { ClusterFacts, LostData, MemberAnswer, MemberFacts } from "../core/observation.ts";
import { isEstablished, type MemberRecord } from "../core/record.ts";
import { RevisionLooks } from "./revision-looks.ts";

type Answer = Extract<MemberAnswer, { reachable: true }>;

interface Seen {
  readonly memberID: string;
  readonly index: number;
}

export class Memory {
  /** The cluster that the revision is of. */
  #clusterID: string | undefined;
  #revision = 0;
  /** When a read through quorum last returned a revision. */
  #quorumAt: number | undefined;
  readonly #looks = new RevisionLooks();
  /** By the UID of the record. */
  readonly #seen = new Map<string, Seen>();
  /** What was noticed stays true, also when the member has caught up by another's log since. */
  readonly #forgot = new Map<string, LostData>();

  /** The highest that was seen of the present cluster. */
  get revision(): number {
    return this.#revision;
  }

  /** The mark at which this process last saw quorum; what was written since, the revision does not count. */
  get quorumAt(): number | undefined {
    return this.#quorumAt;
  }

  /** Reads through quorum, by this process, with their marks. */
  get looks(): readonly RevisionLook[] {
    return this.#looks.all;
  }

  /** The members, asked after the mark `at`, with a note on those that forgot. `status`: the last one that was written. */
  judge(
    cluster: Pick<ClusterFacts, "uid" | "marks" | "approved">,
    members: readonly MemberFacts[],
    status: EtcdClusterStatus | undefined,
    at = 0,
  ): readonly MemberFacts[] {
    const clusterID = isEstablished(cluster.uid, cluster.marks)
      ? cluster.marks.established?.clusterID
      : undefined;
    this.#keepOnly(clusterID, members);
    if (clusterID === undefined) return members;
    if (status?.clusterID === clusterID) this.#revision = Math.max(this.#revision, status.revision ?? 0);
    const judged = members.map((facts) => {
      const { uid } = facts.record;
      const forgot = this.#forgot.get(uid) ?? this.#judgeOne(clusterID, facts);
      if (forgot === undefined) return facts;
      this.#forgot.set(uid, forgot);
      return { ...facts, forgot };
    });
    if (isAccepted(cluster, judged, clusterID)) {
      this.#forgetAll();
      this.#rememberAll(clusterID, members, at);
      return members;
    }
    this.#rememberAll(clusterID, members, at);
    return judged;
  }

  /** A short look: one member of the cluster answered this after a read through quorum that began at the mark `at`. */
  noteRead({ clusterID, revision }: Pick<Answer, "clusterID" | "revision">, at: number): void {
    if (clusterID !== this.#clusterID) return;
    this.#revision = Math.max(this.#revision, revision);
    this.#quorumAt = at;
    this.#looks.see(revision, at);
  }

  #rememberAll(clusterID: string, members: readonly MemberFacts[], at: number): void {
    // Afterwards: what all of them hold now was not seen before any of them was asked.
    let read = Infinity;
    for (const { record, answer } of members) {
      if (!isItsOwn(clusterID, record, answer)) continue;
      this.#remember(record.uid, answer);
      if (!answer.linearizable) continue;
      this.#quorumAt = at;
      read = Math.min(read, answer.revision);
    }
    if (read < Infinity) this.#looks.see(read, at);
  }

  #judgeOne(clusterID: string, { record, answer }: MemberFacts): LostData | undefined {
    if (!record.joined || !isItsOwn(clusterID, record, answer)) return undefined;
    if (answer.linearizable && answer.revision < this.#revision / 2)
      return this.#lost(`it is at revision ${answer.revision}, and ${this.#revision} was seen before`);
    const seen = this.#seen.get(record.uid);
    // A learner has promised nothing yet, and gets everything from the leader (R17).
    if (seen?.memberID !== answer.memberID || answer.isLearner || answer.raftIndex >= seen.index / 2)
      return undefined;
    return this.#lost(`its log ends at ${answer.raftIndex}, and it was seen at ${seen.index}`);
  }

  #lost(evidence: string): LostData {
    return { evidence, seenRevision: this.#revision };
  }

  #remember(uid: string, { memberID, raftIndex, revision }: Answer): void {
    const known = this.#seen.get(uid);
    const index = known?.memberID === memberID ? Math.max(known.index, raftIndex) : raftIndex;
    this.#seen.set(uid, { memberID, index });
    this.#revision = Math.max(this.#revision, revision);
  }

  #forgetAll(): void {
    this.#revision = 0;
    this.#quorumAt = undefined;
    this.#looks.forget();
    this.#seen.clear();
    this.#forgot.clear();
  }

  #keepOnly(clusterID: string | undefined, members: readonly MemberFacts[]): void {
    if (clusterID !== this.#clusterID) {
      this.#clusterID = clusterID;
      this.#forgetAll();
    }
    const present = new Set(members.map(({ record }) => record.uid));
    for (const map of [this.#seen, this.#forgot])
      for (const uid of map.keys()) if (!present.has(uid)) map.delete(uid);
  }
}

/**
 * A person accepts the loss, and it is the cluster's: one that forgot beside others that did not is never accepted, since
 * it would vote without its memory (I4).
 */
function isAccepted(
  { approved }: Pick<ClusterFacts, "approved">,
  judged: readonly MemberFacts[],
  clusterID: string,
): boolean {
  const word = acceptingWord(judged);
  if (word === undefined || approved !== word) return false;
  return judged.every(
    ({ record, answer, forgot }) =>
      forgot !== undefined || !record.joined || !isItsOwn(clusterID, record, answer) || answer.isLearner,
  );
}

/**
 * Whoever answers at an address need not be who has it by our records: an old address may lead to another etcd by now.
 * That one says nothing about this member, which is not healthy until it answers itself.
 */
function isItsOwn(clusterID: string, { memberID }: MemberRecord, answer: MemberAnswer): answer is Answer {
  return (
    answer.reachable &&
    answer.clusterID === clusterID &&
    (memberID === undefined || answer.memberID === memberID)
  );
}
