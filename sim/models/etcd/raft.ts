/**
 * One cluster's consensus, without messages: who leads, who holds what, what commits. A leader needs a
 * quorum of the voters it knows; a candidate needs theirs, and a log no older than theirs. So a voter that
 * lost its data and came back can elect a leader that misses acknowledged writes, as with the real one.
 */
import { quorum } from "../../../src/core/quorum.ts";
import type { SeededRandom } from "../../engine/random.ts";
import type { Scheduled, Scheduler } from "../../engine/scheduler.ts";
import { isLegacy, type Entry, type Op } from "./entry.ts";
import type { Network } from "./network.ts";
import { Refusal, type RefusalKind } from "./refusal.ts";
import type { Server } from "./server.ts";
import type { Member } from "./state.ts";

export interface RaftHooks {
  /** A process comes to an end by itself. */
  crash(
    server: Server,
    level: "panic" | "fatal" | "warn",
    msg: string,
    error: string,
    afterMs?: number,
  ): void;
  /** A server has caught up and knows its leader. */
  following(server: Server): void;
  elected(leader: Server): void;
  applied(server: Server, entry: Entry): void;
}

/** How fast entries reach a member that is behind. */
const LEARNER_BASE_MS = 150;
const BATCH = 500;
const SLOW_BATCH = 1;
const SLOW_EVERY_MS = 2_000;

export class Raft {
  readonly clusterID: string;
  leader: Server | undefined;
  #term = 1;
  #election: Scheduled | undefined;
  /** What the leader knows each follower to have; a new leader knows nothing yet. */
  readonly #match = new Map<string, number>();
  readonly #network: Network;
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #hooks: RaftHooks;

  constructor(
    clusterID: string,
    around: { network: Network; scheduler: Scheduler; random: SeededRandom; hooks: RaftHooks },
  ) {
    this.clusterID = clusterID;
    this.#network = around.network;
    this.#scheduler = around.scheduler;
    this.#random = around.random;
    this.#hooks = around.hooks;
  }

  get term(): number {
    return this.#term;
  }

  servers(): Server[] {
    return this.#network.all().filter((server) => server.runs && server.dir.clusterID === this.clusterID);
  }

  /** The process of this member, if it runs where its peers look for it; by which scheme, the network knows. */
  #processOf(member: Member): Server | undefined {
    const places = member.peerURLs.map(placeOf);
    return this.servers().find(
      (server) =>
        server.id === member.id && server.config.peerURLs.some((url) => places.includes(placeOf(url))),
    );
  }

  #reached(from: Server, member: Member): Server | undefined {
    if (member.id === from.id) return from;
    const server = this.#processOf(member);
    return server && this.#network.connected(from, server) ? server : undefined;
  }

  /** The leader as this member sees it; "0" for none. */
  leaderOf(server: Server): string {
    const { leader } = this;
    if (!leader || !server.runs) return "0";
    if (server === leader) return leader.id;
    const known = leader.dir.state.members.has(server.id) && this.#network.connected(server, leader);
    return known ? leader.id : "0";
  }

  /** The leader that this member names: a learner never campaigns, and so never forgets the last one it heard. */
  namedBy(server: Server): string {
    const reached = this.leaderOf(server);
    return reached === "0" && server.runs && server.isLearner ? server.leaderID : reached;
  }

  /** Something started, ended, froze, or the membership changed: see who leads and who follows. */
  reconsider(): void {
    this.#noteConnections();
    this.#meetRemoved();
    if (this.leader && !this.#canLead(this.leader)) this.#loseLeader();
    this.#noteLagging();
    for (const server of this.servers()) server.leaderID = this.namedBy(server);
    if (this.leader) this.#feed();
    else this.#plan(undefined);
  }

  /** Who does not hear the leader misses what is committed meanwhile. */
  #noteLagging(): void {
    for (const server of this.servers()) {
      if (!server.synced || this.leaderOf(server) !== "0") continue;
      server.synced = false;
      server.delivery?.cancel();
      server.delivery = undefined;
    }
  }

  #canLead(server: Server): boolean {
    const self = server.dir.state.members.get(server.id);
    if (!server.runs || server.frozen || !self || self.isLearner) return false;
    const voters = server.dir.state.voters();
    return voters.filter((voter) => this.#reached(server, voter)).length >= quorum(voters.length);
  }

  #canWin(candidate: Server): boolean {
    const self = candidate.dir.state.members.get(candidate.id);
    if (candidate.frozen || !self || self.isLearner) return false;
    const voters = candidate.dir.state.voters();
    const { lastTerm, log } = candidate.dir;
    const votes = voters.filter((member) => {
      const voter = this.#reached(candidate, member);
      if (!voter) return false;
      const theirs = voter.dir;
      return theirs.lastTerm < lastTerm || (theirs.lastTerm === lastTerm && theirs.log.length <= log.length);
    });
    return votes.length >= quorum(voters.length);
  }

  #loseLeader(): void {
    this.leader = undefined;
    for (const server of this.servers()) {
      server.synced = false;
      server.delivery?.cancel();
      server.delivery = undefined;
    }
  }

  /** Sets the next election, unless one is set or nobody could win it. */
  #plan(soonerMs: number | undefined): void {
    if (this.#election) return;
    const candidates = this.servers().filter((server) => this.#canWin(server));
    const first = candidates[0];
    if (!first) return;
    const alone = first.dir.state.voters().length === 1;
    const timeout = first.config.electionMs;
    const wait =
      soonerMs ?? (alone ? this.#random.between(20, 80) : this.#random.between(timeout, 2 * timeout));
    this.#election = this.#scheduler.after(wait, () => {
      this.#election = undefined;
      if (this.leader) return;
      const able = this.servers().filter((server) => this.#canWin(server));
      if (able.length > 0) this.#lead(this.#random.pick(able));
    });
  }

  /** Leadership handed over by a leader that stops or was asked to; needs no timeout. */
  transfer(to?: Server): boolean {
    const old = this.leader;
    if (!old) return false;
    const able = this.servers().filter(
      (server) => server !== old && server.synced && !server.isLearner && this.#canWin(server),
    );
    const next = to === undefined ? able[0] : able.find((server) => server === to);
    if (!next) return false;
    this.#loseLeader();
    this.#lead(next);
    return true;
  }

  /** Another winner of the last election, where a run follows a real one: what is known of others stays known. */
  crown(to: Server): boolean {
    const known = new Map(this.#match);
    if (this.leader !== to && !this.transfer(to)) return false;
    for (const [id, match] of known) if (!this.#match.has(id)) this.#match.set(id, match);
    return true;
  }

  #lead(server: Server): void {
    this.#term = Math.max(this.#term, ...this.servers().map((other) => other.dir.lastTerm)) + 1;
    this.leader = server;
    this.#match.clear();
    server.synced = true;
    this.#feed();
    if (this.leader !== server) return;
    if (this.#syncedVoters(server) >= quorum(server.dir.state.voters().length)) {
      this.#append({ kind: "election" });
    }
    for (const other of this.servers()) other.leaderID = this.leaderOf(other);
    this.#hooks.elected(server);
    this.#hooks.following(server);
  }

  #syncedVoters(leader: Server): number {
    return leader.dir.state.voters().filter((voter) => this.#reached(leader, voter)?.synced === true).length;
  }

  get writable(): boolean {
    const { leader } = this;
    return leader !== undefined && this.#syncedVoters(leader) >= quorum(leader.dir.state.voters().length);
  }

  /** Commits an operation through one member, and says what that member made of it. */
  propose(through: Server, op: Op): { readonly entry: Entry; readonly refused: RefusalKind | undefined } {
    this.mustReach(through);
    return this.#append(op, through);
  }

  /** The leader that this member reaches, with a quorum behind it. */
  mustReach(through: Server): Server {
    const { leader } = this;
    if (!leader || !this.writable || this.leaderOf(through) === "0") throw new Refusal("timedOut");
    return leader;
  }

  /** Entries that change nothing, as many requests for the alarms would leave. */
  advance(through: Server, count: number): void {
    const leader = this.mustReach(through);
    const receivers = this.servers().filter((server) => server.synced && this.leaderOf(server) !== "0");
    for (let i = 0; i < count; i++) {
      const index = leader.dir.log.length + 1;
      const entry: Entry = { term: this.#term, index, op: { kind: "election" }, legacy: false };
      for (const server of receivers) this.#apply(server, entry);
    }
    for (const server of receivers) if (server !== leader) this.#match.set(server.id, server.dir.log.length);
  }

  #append(op: Op, through?: Server): { entry: Entry; refused: RefusalKind | undefined } {
    const leader = this.leader;
    if (!leader) throw new Refusal("noLeader");
    const legacy = isLegacy(op, (through ?? leader).minor);
    const entry: Entry = { term: this.#term, index: leader.dir.log.length + 1, op, legacy };
    const receivers = this.servers().filter(
      (server) => server.synced && (server === leader || this.leaderOf(server) !== "0"),
    );
    let refused: RefusalKind | undefined;
    const leaders = this.#apply(leader, entry);
    if (through === leader || through === undefined) refused = leaders;
    for (const server of receivers) {
      if (server === leader) continue;
      const own = this.#apply(server, entry, leaders);
      if (server === through) refused = own;
      this.#match.set(server.id, server.dir.log.length);
    }
    for (const server of receivers) this.#hooks.applied(server, entry);
    if (changesMembership(op)) this.reconsider();
    return { entry, refused };
  }

  #apply(server: Server, entry: Entry, leaders?: RefusalKind): RefusalKind | undefined {
    const { dir, config } = server;
    if (entry.index !== dir.log.length + 1)
      throw new Error(`${config.name} skips an entry: a fault of the model`);
    dir.log.push(entry);
    const refused = dir.state.apply(entry, config);
    if (refused) dir.refused.add(entry.index);
    if (dir.log.length - dir.snapshotIndex >= config.snapshotCount) dir.snapshotIndex = dir.log.length;
    if (entry.legacy && server.minor >= 3007) {
      this.#hooks.crash(server, "panic", "unmarshal should never fail", "a request of the v2 store");
    }
    // H1: a member that refused an earlier add does not know whom this is about.
    const unknown = entry.op.kind === "publish" && refused === "memberNotFound";
    const gone = entry.op.kind === "publish" && dir.state.removed.has(entry.op.id);
    if (unknown && !gone && leaders === undefined && this.leader !== server) {
      this.#hooks.crash(server, "panic", "failed to update; member unknown", "membership differs");
    }
    return refused;
  }

  /** Brings connected members up to date: voters at once, learners over time, slow ones hardly. */
  #feed(): void {
    const { leader } = this;
    if (!leader) return;
    for (const member of leader.dir.state.members.values()) {
      const server = this.#reached(leader, member);
      if (!server || server === leader || server.synced || server.delivery) continue;
      if (!this.#accepts(leader, server)) continue;
      const behind = leader.dir.log.length - server.dir.log.length;
      if (behind === 0 || (!member.isLearner && server.speed >= 1)) {
        this.#deliver(leader, server, behind);
      } else {
        this.#deliverLater(leader, server, LEARNER_BASE_MS + this.#random.between(0, LEARNER_BASE_MS));
      }
    }
  }

  #deliverLater(leader: Server, server: Server, ms: number): void {
    server.delivery = this.#scheduler.after(ms, () => {
      server.delivery = undefined;
      if (this.leader !== leader || !this.#network.connected(leader, server)) return;
      if (!this.#accepts(leader, server)) return;
      this.#deliver(leader, server, server.speed >= 1 ? BATCH : SLOW_BATCH);
      if (!server.synced && server.runs) {
        this.#deliverLater(leader, server, server.speed >= 1 ? 20 : SLOW_EVERY_MS);
      }
    });
  }

  #deliver(leader: Server, server: Server, count: number): void {
    const from = leader.dir;
    const to = server.dir;
    if (to.log.length < from.snapshotIndex) {
      // The leader no longer has those entries: it sends its whole state, faults included.
      for (const entry of from.log.slice(to.log.length)) to.log.push(entry);
      to.state = from.state.copy();
      to.corruption = from.corruption;
      to.snapshotIndex = to.log.length;
    } else {
      for (const entry of from.log.slice(to.log.length, to.log.length + count)) {
        this.#apply(server, entry);
        this.#hooks.applied(server, entry);
        if (!server.runs) return;
      }
    }
    this.#match.set(server.id, to.log.length);
    if (to.log.length === from.log.length) {
      server.synced = true;
      this.#hooks.following(server);
    }
  }

  /** Does this member's log fit below the leader's? If not, real etcd panics, or hangs for ever. */
  #accepts(leader: Server, server: Server): boolean {
    const ours = leader.dir.log;
    const theirs = server.dir.log;
    const known = this.#match.get(server.id) ?? 0;
    if (known > theirs.length) {
      const error = `tocommit(${known}) is out of range [lastIndex(${theirs.length})]. Was the raft log corrupted, truncated, or lost?`;
      this.#hooks.crash(server, "panic", error, error);
      return false;
    }
    const shared = Math.min(ours.length, theirs.length);
    // Another history under the same identity, or a longer one: nothing makes the two agree (H2).
    return theirs.length <= ours.length && ours[shared - 1] === theirs[shared - 1];
  }

  /** How far the leader knows a member to be, as a share of its own log (R18). */
  progress(id: string): number | undefined {
    const { leader } = this;
    if (!leader?.dir.state.members.has(id)) return undefined;
    if (id === leader.id) return 1;
    return (this.#match.get(id) ?? 0) / leader.dir.log.length;
  }

  #noteConnections(): void {
    const servers = this.servers();
    for (const a of servers) {
      for (const b of servers) {
        if (a === b) continue;
        const connected = this.#network.connected(a, b);
        if (connected) a.linked.add(b.key);
        else {
          a.linked.delete(b.key);
          a.doubts.delete(b.key);
        }
        if (!connected || a.doubts.has(b.key)) a.activeSince.delete(b.key);
        else if (!a.activeSince.has(b.key)) a.activeSince.set(b.key, this.#scheduler.now);
      }
      for (const known of [a.activeSince, a.linked])
        for (const key of known.keys()) if (!this.#network.get(key)) known.delete(key);
    }
  }

  /** R8: a removed member hears it from any peer that knows, if it knows that peer itself, and ends. */
  #meetRemoved(): void {
    for (const server of this.servers()) {
      if (server.frozen) continue;
      const gone =
        server.dir.state.removed.has(server.id) ||
        this.servers().some(
          (peer) =>
            peer.dir.state.removed.has(server.id) &&
            server.knownMembers().some(({ id }) => id === peer.id) &&
            this.#network.connected(peer, server),
        );
      if (gone) {
        const words = "the member has been permanently removed from the cluster";
        this.#hooks.crash(server, "warn", "server error", words, this.#random.between(200, 1000));
      }
    }
  }
}

function placeOf(url: string): string {
  return url.replace(/^https?:/, "");
}

function changesMembership(op: Op): boolean {
  return op.kind === "add" || op.kind === "promote" || op.kind === "remove" || op.kind === "update";
}
