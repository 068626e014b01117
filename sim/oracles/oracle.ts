/**
 * What must never be seen, judged by the model's truth and not by what the operator observed: I1–I5, I10,
 * and that no member's list differs from another's (H1). The first violation ends the run.
 */
import type { Action } from "../../src/core/action.ts";
import { quorum } from "../../src/core/quorum.ts";
import { lacksRestored } from "../models/etcd/restored.ts";
import type { Ledger } from "./ledger.ts";
import type { DataDir } from "../models/etcd/data-dir.ts";
import type { Server } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";

export class Violation extends Error {
  override name = "Violation";
  readonly invariant: string;
  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

export interface Truth {
  readonly voters: number;
  readonly healthy: ReadonlySet<string>;
  readonly voterIDs: ReadonlySet<string>;
  /** The names of voters that have started once, by ID. */
  readonly voterNames: ReadonlyMap<string, string>;
}

/** The cluster under test, as whoever simulates it keeps it. */
export interface Subject {
  /** The cluster ID on the latch of I3; undefined while it is open. */
  establishedAs(): string | undefined;
  /** Neither hibernated nor being deleted. */
  meantToServe(): boolean;
  /** The running process of a member. */
  server(member: string): Server | undefined;
  /** What is on a member's volume. */
  data(member: string): DataDir | undefined;
  /** Where this life began from a snapshot: the keys in it, which whoever leads it holds. */
  restored?(): readonly string[] | undefined;
  /** It was told to end, and no client is led to it: a member of a former life on a node that only seems to be off. */
  fenced?(server: Server): boolean;
}

export class Oracle {
  readonly #subject: Subject;
  readonly #world: EtcdWorld;
  readonly #ledger: Ledger;
  readonly #dirOf = new Map<string, DataDir>();
  checks = 0;

  constructor(around: { subject: Subject; world: EtcdWorld; ledger: Ledger }) {
    this.#subject = around.subject;
    this.#world = around.world;
    this.#ledger = around.ledger;
  }

  /** Voters as the leader, or else any member with data, knows them; healthy ones hold all, forgot nothing, and follow. */
  truth(): Truth {
    const all = this.#world.network.all().filter((server) => server.runs);
    // Members of a former life may run where nothing reaches them, and have a leader of their own.
    const established = this.#subject.establishedAs();
    const present = all.filter(({ dir }) => dir.clusterID === established);
    const running = present.length > 0 ? present : all;
    const leader = running.find((server) => this.#world.raftOf(server).leader === server);
    const witness = leader ?? running[0];
    const voters = witness?.dir.state.voters() ?? [];
    const healthy = running.filter(
      (server) =>
        server.serving &&
        server.synced &&
        !server.frozen &&
        !server.dir.rolledBack &&
        this.#world.raftOf(server).leaderOf(server) !== "0",
    );
    return {
      voters: voters.length,
      voterIDs: new Set(voters.map((voter) => voter.id)),
      voterNames: new Map(voters.flatMap(({ id, name }) => (name === "" ? [] : [[id, name]]))),
      healthy: new Set(
        healthy.map((server) => server.id).filter((id) => voters.some((voter) => voter.id === id)),
      ),
    };
  }

  #watching(): boolean {
    this.checks++;
    return this.#subject.meantToServe();
  }

  /** Before a step: would it take healthy voters below quorum, or change two voters at once? */
  beforeStep(action: Action): void {
    if (action.kind === "StopWorkload") this.mayStop(action.member);
    if (action.kind === "RemoveFromEtcd") this.mayRemove(action.memberID);
    if (action.kind === "Promote") this.mayPromote();
    if (action.kind === "DeleteVolume") this.mayDelete(action.member);
    if (action.kind === "MoveLeader") this.mayLead(action.memberID);
  }

  mayStop(member: string): void {
    if (!this.#watching()) return;
    const { voters, healthy } = this.truth();
    const server = this.#subject.server(member);
    // Sizes 1 and 2 have no tolerance: a restart is a gap there, by nature (R2).
    if (!server?.runs || !healthy.has(server.id) || voters <= 2) return;
    if (healthy.size >= quorum(voters) && healthy.size - 1 < quorum(voters)) {
      throw new Violation("I1", `stopping ${member} leaves ${healthy.size - 1} of ${voters} voters healthy`);
    }
  }

  mayRemove(id: string): void {
    if (!this.#watching()) return;
    const { voters, healthy, voterIDs } = this.truth();
    if (!voterIDs.has(id)) return;
    const left = healthy.size - (healthy.has(id) ? 1 : 0);
    if (left < quorum(voters - 1)) {
      throw new Violation("I1", `removing ${id} leaves ${left} of ${voters - 1} voters healthy`);
    }
  }

  mayPromote(): void {
    if (!this.#watching()) return;
    const { voters, voterIDs, voterNames, healthy } = this.truth();
    // A voter without a name was added by somebody else, who has not started it: it need not keep ours from voting.
    const down = [...voterIDs].filter((id) => voterNames.has(id) && !healthy.has(id));
    if (down.length > 0 || healthy.size + 1 < quorum(voters + 1)) {
      throw new Violation("I2", `a voter is promoted while ${healthy.size} of ${voters} voters are healthy`);
    }
  }

  /** Leadership goes to a voter that serves: one that hangs or has gone would cost an election. */
  mayLead(id: string): void {
    if (!this.#watching()) return;
    const server = this.#world.network.all().find((one) => one.runs && one.id === id);
    if (!this.truth().voterIDs.has(id) || !server?.serving || server.frozen || server.isLearner)
      throw new Violation("R10", `leadership is moved to ${id}, which is not a voter that serves`);
  }

  mayDelete(member: string): void {
    const dir = this.#subject.data(member);
    if (!this.#watching() || !dir) return;
    const listing = this.#world.network
      .all()
      .find((server) => server.runs && this.#world.raftOf(server).leader === server);
    if (listing?.dir.clusterID === dir.clusterID && listing.dir.state.members.has(dir.memberID)) {
      throw new Violation("I5", `the volume of ${member}, a current member, is deleted`);
    }
  }

  /** I3: nobody begins a new cluster once the first was seen to exist. With data, etcd ignores the word (R4). */
  started(configText: string, hasData: boolean): void {
    this.checks++;
    if (
      this.#subject.establishedAs() !== undefined &&
      !hasData &&
      /"initial-cluster-state":\s*"new"/.test(configText) &&
      !this.#finishesFirstBoot(configText)
    ) {
      throw new Violation("I3", "a process starts a new cluster though the cluster exists");
    }
  }

  /**
   * One of the first members that has not served yet may still start as it was first meant to: it is listed, has nothing
   * to forget, and alone it is no quorum of a cluster that could begin anew (H2). That holds also when its directory was
   * emptied before it ever heard a leader: nobody can count on what it had.
   */
  #finishesFirstBoot(configText: string): boolean {
    const config = JSON.parse(configText) as Readonly<Record<string, unknown>>;
    const url = String(config["initial-advertise-peer-urls"]);
    const running = this.#world.network.all().filter((server) => server.runs);
    const leader = running.find((server) => this.#world.raftOf(server).leader === server);
    const listed = [...(leader?.dir.state.members.values() ?? [])].find(({ peerURLs }) =>
      peerURLs.includes(url),
    );
    return listed?.clientURLs.length === 0 && !hasHeardALeader(this.#dirOf.get(listed.id));
  }

  /** I4: a process made its data directory anew; a member has one directory in its life. */
  madeDirectory(dir: DataDir): void {
    const before = this.#dirOf.get(dir.memberID);
    // Before the latch no client could write (H2), and a learner has never promised anything: neither lost a vote.
    const isVoter = this.truth().voterIDs.has(dir.memberID);
    if (hasHeardALeader(before) && isVoter && this.#subject.establishedAs() !== undefined) {
      throw new Violation("I4", `voter ${dir.memberID} came back without its data`);
    }
    this.#dirOf.set(dir.memberID, dir);
  }

  elected(leader: Server): void {
    this.checks++;
    const known = this.#subject.establishedAs();
    if (known === undefined) return;
    if (leader.dir.clusterID !== known) {
      if (this.#subject.fenced?.(leader)) return;
      throw new Violation("I3", `${leader.config.name} leads cluster ${leader.dir.clusterID}, not ${known}`);
    }
    const restored = this.#subject.restored?.();
    const lacked = restored && lacksRestored(leader.dir, restored);
    if (lacked !== undefined)
      throw new Violation("I3", `${leader.config.name} leads without ${lacked}, which the snapshot holds`);
    const missing = this.#ledger.missingFrom(leader);
    if (missing) throw new Violation("I10", missing);
    this.sameLists();
  }

  /** Members that applied the same log list the same members (H1). */
  sameLists(): void {
    const lists = new Map<string, string>();
    for (const server of this.#world.network.all()) {
      if (!server.runs || server.dir.log.length === 0) continue;
      const { clusterID, log, state } = server.dir;
      const key = `${clusterID} ${log.length}`;
      const list = [...state.members.keys()].toSorted().join(" ");
      const other = lists.get(key);
      if (other !== undefined && other !== list) {
        throw new Violation("H1", `${server.config.name} lists other members than its peers`);
      }
      lists.set(key, list);
    }
  }
}

/** It holds more than the list of the first members, which all of them are given; that list is of the first term. */
function hasHeardALeader(dir: DataDir | undefined): boolean {
  return dir !== undefined && dir.lastTerm > 1;
}
