/**
 * The series of one cluster, from its last pass: read when they are asked for, gone with the cluster.
 */
import { parseDuration } from "../../api/duration.ts";
import type { EtcdClusterStatus, MemberStatus } from "../../api/etcd-cluster-status.ts";
import type { Pass } from "../../control/loop.ts";
import type { Action, HoldReason } from "../../core/action.ts";
import { foreignMembers } from "../../core/assess/foreign.ts";
import type { UserCertificate } from "../../core/auth/facts.ts";
import type { ScheduleFacts } from "../../core/snapshots/facts.ts";
import { viewOf } from "../../core/view.ts";
import type { MetricDefinition, Sample } from "./metrics-registry.ts";
import { METRICS } from "./metrics-table.ts";

/** What a pass brought that is to be counted. */
export interface Counted {
  /** The kind of the step that failed on this pass. */
  readonly failed: Action["kind"] | undefined;
  /** Reasons to wait that were not there before. */
  readonly begun: readonly HoldReason[];
}

const ROLES: readonly MemberStatus["role"][] = ["Leader", "Follower", "Learner", "Unknown"];
const CONDITION: Readonly<Record<string, number>> = { True: 1, False: 0 };
const UNKNOWN = -1;

export class ClusterSeries {
  readonly #labels: readonly [namespace: string, cluster: string];
  #status: EtcdClusterStatus = {};
  #desired = 0;
  #foreign = 0;
  #users: Readonly<Record<string, UserCertificate>> = {};
  #schedules: readonly ScheduleFacts[] = [];
  #waits: ReadonlySet<HoldReason> = new Set();
  #problems = false;
  #failure: Pass["failure"];
  /** The last leader that was known; one that comes back after a time without any is no change. */
  #leader: string | undefined;
  #leaderChanges = 0;

  constructor(namespace: string, cluster: string) {
    this.#labels = [namespace, cluster];
  }

  /** Why this cluster waits. */
  get waits(): Iterable<HoldReason> {
    return this.#waits;
  }

  get hasProblems(): boolean {
    return this.#problems;
  }

  passed({ status, decision, failure, problems, observation }: Pass): Counted {
    // A hold that keeps nothing back is a remark.
    const held = decision.holds.filter(({ classes }) => classes === "all" || classes.length > 0);
    const waits = new Set(held.map(({ reason }) => reason));
    const begun = [...waits].filter((reason) => !this.#waits.has(reason));
    // The same failure is reported on each pass until its next try.
    const failed = failure !== undefined && failure !== this.#failure ? failure.kind : undefined;
    if (this.#leader !== undefined && status.leader !== undefined && status.leader !== this.#leader)
      this.#leaderChanges++;
    this.#leader = status.leader ?? this.#leader;
    this.#waits = waits;
    this.#failure = failure;
    this.#problems = problems.length > 0;
    this.#status = status;
    this.#desired = observation.cluster.spec.replicas;
    this.#users = observation.auth?.certificates ?? {};
    this.#schedules = observation.snapshots?.schedules ?? [];
    this.#foreign = foreignMembers(viewOf(observation)).length;
    return { failed, begun };
  }

  *samples(now: number): Generator<readonly [MetricDefinition, Iterable<Sample>]> {
    const {
      members = [],
      conditions = [],
      certificates = [],
      readyReplicas,
      revision,
      quotaFullAt,
    } = this.#status;
    const ofCluster = (value: number, ...labels: string[]): Sample => ({
      labels: [...this.#labels, ...labels],
      value,
    });
    yield [
      METRICS.members,
      ROLES.map((role) => ofCluster(members.filter((m) => m.role === role).length, role.toLowerCase())),
    ];
    yield [METRICS.desired, [ofCluster(this.#desired)]];
    yield [METRICS.healthy, [ofCluster(readyReplicas ?? 0)]];
    yield [METRICS.foreign, [ofCluster(this.#foreign)]];
    yield [METRICS.leaderChanges, [ofCluster(this.#leaderChanges)]];
    if (revision !== undefined) yield [METRICS.revision, [ofCluster(revision)]];
    if (quotaFullAt !== undefined)
      yield [METRICS.quotaFull, [ofCluster(Math.round((Date.parse(quotaFullAt) - now) / 1000))]];
    yield [
      METRICS.condition,
      conditions.map(({ type, status }) => ofCluster(CONDITION[status] ?? UNKNOWN, type)),
    ];
    const ofSchedules = (read: (status: ScheduleFacts["status"]) => number | undefined): Sample[] =>
      this.#schedules.flatMap(({ name, status }) => {
        const value = read(status);
        return value === undefined || Number.isNaN(value) ? [] : [ofCluster(value, name)];
      });
    yield [METRICS.snapshotTaken, ofSchedules(({ lastSuccessful }) => secondsOf(lastSuccessful))];
    yield [METRICS.snapshotNext, ofSchedules(({ next }) => secondsOf(next))];
    yield [METRICS.snapshotRpo, ofSchedules(({ rpo }) => secondsIn(rpo))];
    yield [METRICS.snapshotVerified, ofSchedules((status) => secondsOf(status.lastVerified))];
    yield [METRICS.snapshotRestore, ofSchedules(({ rto }) => secondsIn(rto))];
    yield [METRICS.changesRecorded, ofSchedules(({ incremental }) => secondsOf(incremental?.time))];
    yield [METRICS.changesRevision, ofSchedules(({ incremental }) => incremental?.revision)];
    yield [
      METRICS.changesFollowed,
      ofSchedules(({ incremental }) => incremental && (incremental.reason === "Following" ? 1 : 0)),
    ];
    const ofMembers = (read: (member: MemberStatus) => number | undefined): Sample[] =>
      members.flatMap((member) => {
        const value = read(member);
        return value === undefined ? [] : [ofCluster(value, member.name)];
      });
    yield [METRICS.memberHealthy, ofMembers(({ healthy }) => (healthy ? 1 : 0))];
    yield [METRICS.dbSize, ofMembers(({ dbSize }) => dbSize)];
    yield [METRICS.dbInUse, ofMembers(({ dbSizeInUse }) => dbSizeInUse)];
    yield [METRICS.raftLag, ofMembers((member) => member.raftLag)];
    yield [
      METRICS.certificateExpiry,
      certificates.map(({ name, expires }) =>
        ofCluster(Math.round((Date.parse(expires) - now) / 1000), name),
      ),
    ];
    yield [
      METRICS.userCertificateExpiry,
      Object.entries(this.#users).flatMap(([user, { expires }]) =>
        expires === undefined ? [] : [ofCluster(Math.round((expires - now) / 1000), user)],
      ),
    ];
    yield [
      METRICS.certExpiry,
      ofMembers(({ certExpiry }) =>
        certExpiry === undefined ? undefined : Math.round((Date.parse(certExpiry) - now) / 1000),
      ),
    ];
  }
}

function secondsOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time) / 1_000;
}

function secondsIn(duration: string | undefined): number | undefined {
  return duration === undefined ? undefined : (parseDuration(duration) ?? NaN) / 1_000;
}
