/**
 * A world of etcd processes: start, signal, freeze and cut them; the rest follows from etcd's own rules.
 * Answers to calls are in `calls.ts`; here is what happens by itself, on virtual time.
 */
import type { SeededRandom } from "../../engine/random.ts";
import type { Scheduler } from "../../engine/scheduler.ts";
import { boot, otherURLs, type Verdict } from "./boot.ts";
import { BadConfig, readConfig } from "./config.ts";
import { forceNewCluster, type DataDirs } from "./data-dir.ts";
import type { Entry } from "./entry.ts";
import { corruptMembers, leaderDuties } from "./monitors.ts";
import { Network } from "./network.ts";
import { Raft, type RaftHooks } from "./raft.ts";
import { Server, type ServerEnd, type ServerStart } from "./server.ts";

const MONITOR_MS = 4_000;
const PUBLISH_AGAIN_MS = 300;
const COMPACT_HASH_MS = 60_000;

export class EtcdWorld {
  readonly network = new Network();
  readonly scheduler: Scheduler;
  readonly #random: SeededRandom;
  readonly #dirs: DataDirs;
  readonly #rafts = new Map<string, Raft>();
  readonly #duties = new Set<string>();
  /** Something an observer of processes and members might want to look at again. */
  onChange: () => void = () => {};
  /** A leader of any cluster began to lead. */
  onElected: (leader: Server) => void = () => {};

  constructor(around: { scheduler: Scheduler; random: SeededRandom; dirs: DataDirs }) {
    this.scheduler = around.scheduler;
    this.#random = around.random;
    this.#dirs = around.dirs;
  }

  raftOf(server: Server): Raft {
    return this.#raft(server.dir.clusterID);
  }

  #raft(clusterID: string): Raft {
    let raft = this.#rafts.get(clusterID);
    if (!raft) {
      const { network, scheduler } = this;
      raft = new Raft(clusterID, { network, scheduler, random: this.#random, hooks: this.#hooks });
      this.#rafts.set(clusterID, raft);
    }
    return raft;
  }

  readonly #hooks: RaftHooks = {
    crash: (server, level, msg, error, afterMs) => this.#crash(server, level, msg, error, afterMs),
    following: (server) => this.#following(server),
    elected: (leader) => {
      this.onElected(leader);
      this.#dutiesSoon(leader, 50);
      for (const server of this.#raft(leader.dir.clusterID).servers())
        if (server.synced) this.#following(server);
      this.onChange();
    },
    applied: (server, entry) => this.#applied(server, entry),
  };

  /** Starts a process; what becomes of it shows later. */
  start(start: ServerStart): Server | undefined {
    let server: Server;
    try {
      server = new Server(start, readConfig(start.configText, start.version), this.scheduler.now);
    } catch (error) {
      if (!(error instanceof BadConfig)) throw error;
      const line = JSON.stringify({ level: "warn", msg: "failed to verify flags", error: error.message });
      this.scheduler.after(this.#random.between(20, 40), () => {
        start.print(line);
        start.onEnd({ kind: "exited", code: 1 });
        this.onChange();
      });
      return undefined;
    }
    const taken = this.network.bound(server);
    this.network.add(server);
    server.log("info", "Running: ");
    server.timers.push(
      this.scheduler.after(this.#random.between(30, 120), () => {
        if (taken !== undefined) {
          const address = taken.replace(/^https?:\/\//, "");
          this.#exit(server, {
            kind: "exit",
            level: "fatal",
            msg: "listen failed",
            error: `listen tcp ${address}: bind: address already in use`,
          });
        } else this.#boot(server);
      }),
    );
    return server;
  }

  #boot(server: Server): void {
    const dir = this.#dirs.read(server.config.dataDir);
    // H7: a joiner that asks another one which has bound its port but does not serve yet waits for it.
    const silent =
      dir === undefined &&
      server.config.state === "existing" &&
      server.timers.length < 2 &&
      this.network.peerAt(otherURLs(server)[0] ?? "", server)?.phase === "booting";
    if (silent) {
      server.timers.push(this.scheduler.after(this.#random.between(300, 14_000), () => this.#boot(server)));
      return;
    }
    const verdict = boot(server, {
      dir,
      diskFull: this.#dirs.isFull(server.config.dataDir),
      peerAt: (url) => this.network.peerAt(url, server),
    });
    if (verdict.kind === "exit") {
      this.#exit(server, verdict);
      return;
    }
    if (verdict.dir !== dir) this.#dirs.write(server.config.dataDir, verdict.dir);
    else if (server.config.forceNewCluster) forceNewCluster(verdict.dir);
    server.open(verdict.dir);
    server.introduced = verdict.introduced;
    server.phase = "running";
    this.#raft(verdict.dir.clusterID).reconsider();
  }

  #exit(server: Server, verdict: Extract<Verdict, { kind: "exit" }>): void {
    server.log(verdict.level, verdict.msg, verdict.error);
    this.#end(server, { kind: "exited", code: verdict.level === "panic" ? 2 : 1 });
  }

  /** What a call does to it, at once. */
  panic(server: Server, msg: string): void {
    server.log("panic", msg);
    this.#end(server, { kind: "exited", code: 2 });
  }

  #crash(
    server: Server,
    level: "panic" | "fatal" | "warn",
    msg: string,
    error: string,
    afterMs = this.#random.between(1, 20),
  ): void {
    const key = `crash ${server.key}`;
    if (this.#duties.has(key)) return;
    this.#duties.add(key);
    server.timers.push(
      this.scheduler.after(afterMs, () => {
        server.log(level, msg, error);
        if (level === "warn") server.log("warn", "data-dir used by this member must be removed");
        this.#end(server, { kind: "exited", code: level === "panic" ? 2 : level === "fatal" ? 1 : 0 });
      }),
    );
  }

  /**
   * A leader, a synced member: publish it, then serve. A process that has found no leader yet answers no client at
   * all, however long it runs; one that has lost its leader still tells its status and what it has.
   */
  #following(server: Server): void {
    if (server.published) return;
    server.published = true;
    server.timers.push(this.scheduler.after(this.#random.between(2, 30), () => this.#publish(server)));
  }

  #publish(server: Server): void {
    if (!server.runs) return;
    const { name, clientURLs } = server.config;
    const raft = this.raftOf(server);
    if (!raft.writable || raft.leaderOf(server) === "0" || !server.synced) {
      // etcd goes on trying for as long as it runs.
      server.timers.push(this.scheduler.after(PUBLISH_AGAIN_MS, () => this.#publish(server)));
      return;
    }
    raft.propose(server, { kind: "publish", id: server.id, name, clientURLs });
    server.log("info", "published local member to cluster through raft");
    this.#serve(server);
    this.#followStorage(server);
    if (raft.leader) this.#dutiesSoon(raft.leader, MONITOR_MS);
  }

  #serve(server: Server): void {
    if (server.serving) return;
    server.serving = true;
    server.log("info", "ready to serve client requests");
    this.onChange();
  }

  #applied(server: Server, { op }: Entry): void {
    const raft = this.raftOf(server);
    if (op.kind === "cluster-version") this.#followVersion(server, op.version);
    // A member that leaves may have been the last old one.
    if ((op.kind === "downgrade" || op.kind === "remove") && server === raft.leader)
      this.#dutiesSoon(server, MONITOR_MS);
    if (op.kind === "put") this.#watchQuota(server);
    if (op.kind === "compact" && server === raft.leader && server.config.compactHashCheck) {
      server.timers.push(this.scheduler.after(COMPACT_HASH_MS, () => this.#compareHashes(server)));
    }
  }

  #followVersion(server: Server, version: string): void {
    if (Number(version.split(".")[1]) + 3000 > server.minor) {
      this.#crash(
        server,
        "panic",
        "invalid downgrade; server version is lower than determined cluster version",
        "",
      );
    } else this.#followStorage(server);
  }

  /** Looked at again and again, so that one that was killed meanwhile makes up for it. */
  #followStorage(server: Server): void {
    const { dir } = server;
    if (server.minor < 3006 || dir.storageVersion === dir.state.clusterVersion) return;
    server.timers.push(
      this.scheduler.after(this.#random.between(1, 100), () => {
        dir.storageVersion = dir.state.clusterVersion;
      }),
    );
  }

  #watchQuota(server: Server): void {
    const { state } = server.dir;
    if (state.dbSize <= server.config.quotaBytes || state.alarms.has(`${server.id} NOSPACE`)) return;
    server.timers.push(
      this.scheduler.after(1, () => {
        const raft = this.raftOf(server);
        if (!server.runs || !raft.writable || raft.leaderOf(server) === "0") return;
        raft.propose(server, { kind: "alarm", raise: true, id: server.id, alarm: "NOSPACE" });
        this.onChange();
      }),
    );
  }

  #compareHashes(leader: Server): void {
    const raft = this.raftOf(leader);
    if (raft.leader !== leader || !raft.writable) return;
    for (const server of corruptMembers(leader, (id) => this.#reach(leader, id))) {
      // R32: 3.5 does not say whose it is.
      const id = leader.minor >= 3006 ? server.id : "0";
      if (leader.dir.state.alarms.has(`${id} CORRUPT`)) continue;
      raft.propose(leader, { kind: "alarm", raise: true, id, alarm: "CORRUPT" });
      this.onChange();
    }
  }

  #reach(from: Server, id: string): Server | undefined {
    if (from.id === id) return from;
    const server = this.raftOf(from)
      .servers()
      .find((other) => other.id === id);
    return server && this.network.connected(from, server) ? server : undefined;
  }

  /** Whoever listens at a member's address says what it runs, also one of another cluster. */
  #tellsVersion(from: Server, id: string): Server | undefined {
    const known = this.#reach(from, id);
    if (known) return known;
    const urls = from.dir.state.members.get(id)?.peerURLs ?? [];
    return urls.map((url) => this.network.peerAt(url, from)).find((other) => other?.runs);
  }

  #dutiesSoon(leader: Server, withinMs: number): void {
    const key = leader.dir.clusterID;
    if (this.#duties.has(key)) return;
    this.#duties.add(key);
    this.scheduler.after(this.#random.between(1, withinMs), () => {
      this.#duties.delete(key);
      const raft = this.#raft(key);
      const { leader: now } = raft;
      if (!now || !raft.writable) return;
      const duties = leaderDuties(now, (id) => this.#tellsVersion(now, id));
      for (const op of duties) raft.propose(now, op);
      if (duties.length > 0) this.onChange();
      // A downgrade that waits for a member is looked at until it is done.
      if (duties.length > 0 || now.dir.state.downgrade !== undefined) this.#dutiesSoon(now, MONITOR_MS);
    });
  }

  /** SIGTERM hands leadership over first (R10); SIGKILL does not. */
  signal(server: Server, signal: "SIGTERM" | "SIGKILL" | "SIGINT"): void {
    if (server.phase === "ended") return;
    if (signal === "SIGKILL") {
      this.#end(server, { kind: "signalled", signal });
      return;
    }
    if (server.frozen) return;
    const raft = server.runs ? this.raftOf(server) : undefined;
    if (raft?.leader === server) raft.transfer();
    server.timers.push(
      this.scheduler.after(this.#random.between(5, 60), () =>
        this.#end(server, { kind: "signalled", signal }),
      ),
    );
  }

  freeze(server: Server): void {
    server.frozen = true;
    if (server.runs) this.raftOf(server).reconsider();
    this.onChange();
  }

  thaw(server: Server): void {
    server.frozen = false;
    if (server.runs) this.raftOf(server).reconsider();
    this.onChange();
  }

  /** After links were cut or healed. */
  reconsiderAll(): void {
    for (const raft of this.#rafts.values()) raft.reconsider();
    this.onChange();
  }

  #end(server: Server, end: ServerEnd): void {
    if (server.phase === "ended") return;
    const wasRunning = server.runs;
    server.phase = "ended";
    server.serving = false;
    server.synced = false;
    server.delivery?.cancel();
    for (const timer of server.timers) timer.cancel();
    this.#duties.delete(`crash ${server.key}`);
    this.network.remove(server);
    if (wasRunning) this.raftOf(server).reconsider();
    server.start.onEnd(end);
    this.onChange();
  }
}
