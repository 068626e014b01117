/**
 * The calls of etcd's API that change or tell the membership, as one member answers them: strict
 * reconfiguration with its five seconds (R19), learners' limits (R17), promotion (R18), leader moves (R20).
 */
import { quorum } from "../../../src/core/quorum.ts";
import { compareVersions, minorNumber, minorOf, version } from "../../../src/core/version/version.ts";
import type { AuthOp, AuthState } from "./auth.ts";
import { hashAt } from "./data-dir.ts";
import type { AlarmName } from "./entry.ts";
import { memberIdOf } from "./ids.ts";
import type { Raft } from "./raft.ts";
import { Refusal, votersOnly } from "./refusal.ts";
import type { Server } from "./server.ts";
import type { Member } from "./state.ts";
import type { EtcdWorld } from "./world.ts";

const HEALTH_INTERVAL_MS = 5_000;
const READY_SHARE = 0.9;

export interface Status {
  readonly clusterID: string;
  readonly memberID: string;
  readonly leaderID: string;
  readonly isLearner: boolean;
  readonly version: string;
  readonly storageVersion: string;
  readonly raftIndex: number;
  readonly raftAppliedIndex: number;
  readonly raftTerm: number;
  readonly revision: number;
  readonly dbSize: number;
  readonly dbSizeInUse: number;
  /** 0 below 3.6.6, where etcd tells it wrongly or not at all. */
  readonly dbSizeQuota: number;
  readonly downgrade: { readonly enabled: boolean; readonly target: string } | undefined;
}

function tellsQuota(server: Server): boolean {
  return compareVersions(version(server.version), version("3.6.6")) >= 0;
}

export class Calls {
  readonly #world: EtcdWorld;
  /** Wall time in milliseconds: added members' IDs are made of it (R5). */
  readonly #now: () => number;

  constructor(world: EtcdWorld, now: () => number) {
    this.#world = world;
    this.#now = now;
  }

  /** Only this one looks itself up among the members, and takes it for impossible not to be there. */
  status(server: Server): Status {
    if (server.dir.state.removed.has(server.id)) {
      this.#world.panic(server, "failed to find local ID in cluster members");
      throw new Refusal("cutOff");
    }
    return this.facts(server);
  }

  facts(server: Server): Status {
    const { dir } = server;
    const { state } = dir;
    const raft = this.#raft(server);
    const modern = server.minor >= 3006;
    return {
      clusterID: dir.clusterID,
      memberID: dir.memberID,
      leaderID: raft.namedBy(server),
      isLearner: server.isLearner,
      version: server.version,
      storageVersion: modern ? (dir.storageVersion ?? "") : "",
      raftIndex: dir.log.length,
      raftAppliedIndex: dir.log.length,
      raftTerm: Math.max(dir.lastTerm, raft.leaderOf(server) === "0" ? 0 : raft.term),
      revision: state.revision,
      dbSize: state.dbSize,
      dbSizeInUse: state.dbSizeInUse,
      dbSizeQuota: tellsQuota(server) ? server.config.quotaBytes : 0,
      downgrade: modern
        ? { enabled: state.downgrade !== undefined, target: state.downgrade ?? "" }
        : undefined,
    };
  }

  memberList(server: Server, linearizable: boolean): readonly Member[] {
    votersOnly(server);
    if (linearizable) this.#readIndex(server);
    return server.knownMembers();
  }

  /** Succeeds when a linearizable read through this member would. */
  linearizableRead(server: Server): void {
    votersOnly(server);
    this.#readIndex(server);
  }

  memberAdd(server: Server, peerURLs: readonly string[], isLearner: boolean): Member {
    votersOnly(server);
    if (peerURLs.length === 0 || !peerURLs.every(isPeerURL)) throw new Refusal("badURLs");
    const raft = this.#raft(server);
    const { state } = server.dir;
    if (server.config.strictReconfig) {
      const voters = state.voters();
      const started = voters.filter((member) => member.name !== "").length;
      const startedEnough = (started === 1 && voters.length === 1) || started >= quorum(voters.length + 1);
      if (!isLearner && !startedEnough) throw new Refusal("notEnoughStarted");
      if (!this.#connectedEnoughToAdd(server, voters)) throw new Refusal("unhealthy");
    }
    const id = memberIdOf(peerURLs, "", Math.floor(this.#now() / 1000));
    const { refused } = raft.propose(server, { kind: "add", id, name: "", peerURLs, isLearner });
    if (refused) throw new Refusal(refused);
    this.#world.onChange();
    const member = server.dir.state.members.get(id);
    if (!member) throw new Refusal("memberNotFound");
    return member;
  }

  memberRemove(server: Server, id: string): void {
    votersOnly(server);
    const member = server.dir.state.members.get(id);
    if (server.config.strictReconfig && member?.isLearner !== true) this.#mayRemove(server, id);
    const { refused } = this.#raft(server).propose(server, { kind: "remove", id });
    if (refused) throw new Refusal(refused);
    this.#world.onChange();
  }

  memberPromote(server: Server, id: string): void {
    votersOnly(server);
    const raft = this.#raft(server);
    const { leader } = raft;
    if (!leader || raft.leaderOf(server) === "0") throw new Refusal("timedOut");
    // A follower asks the leader in nobody's name, and asks again whatever that one refuses it.
    if (leader !== server && server.dir.state.auth.enabled) throw new Refusal("timedOut");
    const progress = raft.progress(id);
    if (progress === undefined) throw new Refusal("memberNotFound");
    if (progress < READY_SHARE) throw new Refusal("learnerNotReady");
    const voters = leader.dir.state.voters();
    const started = voters.filter((member) => member.name !== "").length + 1;
    if (leader.config.strictReconfig && started < quorum(voters.length + 1)) {
      throw new Refusal("notEnoughStarted");
    }
    const { refused } = raft.propose(server, { kind: "promote", id });
    if (refused) throw new Refusal(refused);
    this.#world.onChange();
  }

  memberUpdate(server: Server, id: string, peerURLs: readonly string[]): void {
    votersOnly(server);
    const { refused } = this.#raft(server).propose(server, { kind: "update", id, peerURLs });
    if (refused) throw new Refusal(refused);
    // R9: before 3.5.31 and 3.6.12 this promotes a learner in silence.
    const member = server.dir.state.members.get(id);
    const floor = server.minor === 3005 ? "3.5.31" : server.minor === 3006 ? "3.6.12" : undefined;
    if (member?.isLearner && floor && compareVersions(version(server.version), version(floor)) < 0) {
      this.#raft(server).propose(server, { kind: "promote", id });
    }
    this.#world.onChange();
  }

  moveLeader(server: Server, target: string): void {
    votersOnly(server);
    const raft = this.#raft(server);
    if (raft.leader !== server) throw new Refusal("notLeader");
    if (target === server.id) return;
    const member = server.dir.state.members.get(target);
    if (!member || member.isLearner) throw new Refusal("badTransferee");
    // A voter that does not run is waited for until the caller gives up.
    const to = raft.servers().find((other) => other.id === target);
    if (!to || !raft.transfer(to)) throw new Refusal("timedOut");
  }

  alarms(server: Server): { memberID: string; alarm: AlarmName }[] {
    votersOnly(server);
    return [...server.dir.state.alarms].map((raised) => {
      const [memberID = "0", alarm] = raised.split(" ");
      return { memberID, alarm: alarm === "CORRUPT" ? "CORRUPT" : "NOSPACE" };
    });
  }

  setAlarm(server: Server, id: string, alarm: AlarmName, raise: boolean): void {
    votersOnly(server);
    this.#raft(server).propose(server, { kind: "alarm", raise, id, alarm });
    this.#world.onChange();
  }

  /** What a member has of users and roles after this call, which is an entry of the log. */
  auth(server: Server, op: AuthOp): AuthState {
    votersOnly(server);
    const { refused } = this.#raft(server).propose(server, { kind: "auth", op });
    if (refused) throw new Refusal(refused);
    this.#world.onChange();
    return server.dir.state.auth;
  }

  /** As many entries that change nothing. */
  advanceLog(server: Server, entries: number): void {
    votersOnly(server);
    this.#raft(server).advance(server, entries);
  }

  /** Local to the member, and refused on learners (H8). */
  defragment(server: Server): void {
    votersOnly(server);
    server.dir.state.dbSize = server.dir.state.dbSizeInUse;
  }

  hashKV(server: Server, asked: number): { hash: number; compactRevision: number; revision: number } {
    votersOnly(server);
    const { state } = server.dir;
    // What a compaction hashed on its way is answered as it was then, by a process that remembers it.
    const kept = state.compactions.find((one) => one.revision === asked);
    const revision = asked === 0 && !kept ? state.revision : asked;
    if (revision > state.revision) throw new Refusal("futureRevision");
    if (!kept && revision < state.compactRevision) throw new Refusal("compacted");
    const compactRevision = kept?.before ?? state.compactRevision;
    return { hash: hashAt(server.dir, revision, compactRevision), compactRevision, revision };
  }

  /** The revision of the compaction that ends a watch from this revision, if one does. */
  watch(server: Server, from: number): number | undefined {
    votersOnly(server);
    const { compactRevision } = server.dir.state;
    return from > 0 && from < compactRevision ? compactRevision : undefined;
  }

  /** R15: one minor down from what the cluster speaks, and only one at a time. */
  downgrade(server: Server, action: "VALIDATE" | "ENABLE" | "CANCEL", target: string): string {
    votersOnly(server);
    const raft = this.#raft(server);
    this.#readIndex(server);
    const { state } = server.dir;
    const speaks = state.clusterVersion ?? "3.0";
    if (action === "CANCEL") {
      // 3.6 and later only log that there was none.
      if (state.downgrade === undefined && server.minor >= 3006) return speaks;
      if (state.downgrade === undefined) throw new Refusal("noDowngrade");
      raft.propose(server, { kind: "downgrade" });
      return speaks;
    }
    const minor = minorOf(target);
    if (minorNumber(minor) !== minorNumber(speaks) - 1) throw new Refusal("badDowngrade");
    if (state.downgrade !== undefined) throw new Refusal("downgradeRunning");
    if (action === "ENABLE") raft.propose(server, { kind: "downgrade", target: minor });
    return speaks;
  }

  #raft(server: Server): Raft {
    return this.#world.raftOf(server);
  }

  #readIndex(server: Server): void {
    const raft = this.#raft(server);
    if (raft.leaderOf(server) === "0" || !raft.writable || !server.synced) throw new Refusal("timedOut");
  }

  #connectedEnoughToAdd(server: Server, voters: readonly Member[]): boolean {
    if (voters.length === 1) return true;
    const connected = this.#connectedLongEnough(server, voters);
    // R19: all of them before 3.5.30 and 3.6.11, a quorum of the next size since.
    const floor = server.minor === 3005 ? "3.5.30" : server.minor === 3006 ? "3.6.11" : undefined;
    const old =
      server.minor < 3005 ||
      (floor !== undefined && compareVersions(version(server.version), version(floor)) < 0);
    return connected >= (old ? voters.length : quorum(voters.length + 1));
  }

  #mayRemove(server: Server, id: string): void {
    const voters = server.dir.state.voters();
    const rest = voters.filter((member) => member.id !== id);
    const started = rest.filter((member) => member.name !== "").length;
    if (started < quorum(rest.length)) throw new Refusal("notEnoughStarted");
    // A member that is down is no part of the active quorum.
    if (id !== server.id && this.#activeSince(server, id) === undefined) return;
    const active = this.#connectedLongEnough(server, voters);
    if (active - 1 < 1 + Math.floor((voters.length - 1) / 2)) throw new Refusal("unhealthy");
  }

  #connectedLongEnough(server: Server, voters: readonly Member[]): number {
    const before = this.#world.scheduler.now - HEALTH_INTERVAL_MS;
    return voters.filter((member) => {
      if (member.id === server.id) return true;
      const since = this.#activeSince(server, member.id);
      return since !== undefined && since < before;
    }).length;
  }

  #activeSince(server: Server, id: string): number | undefined {
    const other = this.#raft(server)
      .servers()
      .find((candidate) => candidate.id === id);
    return other && server.activeSince.get(other.key);
  }
}

/** Scheme, host and port, and nothing after them. */
function isPeerURL(text: string): boolean {
  return /^https?:\/\/(\[[^\]]+\]|[^\s/:]+):\d+$/.test(text);
}
