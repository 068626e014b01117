/** A bench for tests of the model: members by letter, their configuration in a line, time at hand. */
import { EPOCH } from "../../engine/clock.ts";
import { SeededRandom } from "../../engine/random.ts";
import { Scheduler } from "../../engine/scheduler.ts";
import { Calls } from "./calls.ts";
import type { DataDir, DataDirs } from "./data-dir.ts";
import { Keys } from "./kv.ts";
import type { Server, ServerEnd } from "./server.ts";
import { EtcdWorld } from "./world.ts";

export class MapDirs implements DataDirs {
  readonly dirs = new Map<string, DataDir>();
  readonly full = new Set<string>();
  read(path: string): DataDir | undefined {
    return this.dirs.get(path);
  }
  write(path: string, dir: DataDir): void {
    this.dirs.set(path, dir);
  }
  isFull(path: string): boolean {
    return this.full.has(path);
  }
}

export interface LabProcess {
  readonly name: string;
  server: Server | undefined;
  readonly lines: string[];
  end: ServerEnd | undefined;
}

export interface LabStart {
  version?: string;
  state?: "new" | "existing";
  /** Names of the initial cluster. */
  cluster: string;
  token?: string;
  extra?: Readonly<Record<string, unknown>>;
}

export const peerURL = (name: string) => `http://${name}:2380`;
export const clientURL = (name: string) => `http://${name}:2379`;

export class Lab {
  readonly scheduler: Scheduler;
  readonly world: EtcdWorld;
  readonly calls: Calls;
  readonly keys: Keys;
  readonly disk = new MapDirs();
  #started = 0;

  constructor(seed = 1) {
    const random = new SeededRandom(seed);
    this.scheduler = new Scheduler(random.fork());
    this.world = new EtcdWorld({ scheduler: this.scheduler, random: random.fork(), dirs: this.disk });
    this.calls = new Calls(this.world, () => EPOCH + this.scheduler.now);
    this.keys = new Keys(this.world);
  }

  start(
    name: string,
    { version = "3.6.16", state = "new", cluster, token = "t", extra = {} }: LabStart,
  ): LabProcess {
    const config = {
      name,
      "data-dir": `/data/${name}`,
      "listen-peer-urls": peerURL(name),
      "listen-client-urls": clientURL(name),
      "initial-advertise-peer-urls": peerURL(name),
      "advertise-client-urls": clientURL(name),
      "initial-cluster": cluster
        .split("")
        .map((peer) => `${peer}=${peerURL(peer)}`)
        .join(","),
      "initial-cluster-state": state,
      "initial-cluster-token": token,
      ...extra,
    };
    const process: LabProcess = { name, server: undefined, lines: [], end: undefined };
    process.server = this.world.start({
      key: `${name}/${++this.#started}`,
      version,
      configText: JSON.stringify(config),
      print: (line) => process.lines.push(line),
      onEnd: (end) => (process.end = end),
    });
    return process;
  }

  /** Founders by letter, all started and settled. */
  found(
    names: string,
    version?: string,
    extra?: Readonly<Record<string, unknown>>,
  ): Record<string, LabProcess> {
    const started = names
      .split("")
      .map((name) => [
        name,
        this.start(name, { cluster: names, ...(version ? { version } : {}), ...(extra ? { extra } : {}) }),
      ]);
    this.pass(10_000);
    return Object.fromEntries(started) as Record<string, LabProcess>;
  }

  pass(ms: number): void {
    this.scheduler.runUntil(this.scheduler.now + ms);
  }

  at(name: string): Server {
    const server = this.world.network.clientAt(clientURL(name));
    if (!server) throw new Error(`${name} does not run`);
    return server;
  }

  wipe(name: string): void {
    this.disk.dirs.delete(`/data/${name}`);
  }

  kill(name: string): void {
    this.world.signal(this.at(name), "SIGKILL");
  }

  leader(): Server {
    const leader = this.world.network
      .all()
      .find((server) => server.runs && this.world.raftOf(server).leader === server);
    if (!leader) throw new Error("nobody leads");
    return leader;
  }

  list(name: string): string[] {
    return this.calls
      .memberList(this.at(name), false)
      .map((member) => `${member.name || "?"}${member.isLearner ? "*" : ""}`)
      .toSorted();
  }
}
