/**
 * What a kubelet is to a directly simulated cluster: a pod is made from a record once, and its process is
 * started again by itself with whatever its configuration file says by then (H3), also while no operator lives.
 */
import { peerURLOf } from "../../src/core/config/flags.ts";
import type { RestoreFault } from "../../src/api/bootstrap.ts";
import { CAUSES } from "../../src/control/exit-causes.ts";
import { meaningOf } from "../../src/core/assess/exit-causes.ts";
import type { ExitCause, WorkloadFacts } from "../../src/core/observation.ts";
import type { MemberRecord } from "../../src/core/record.ts";
import { startHash } from "../../src/core/template/template.ts";
import { readExitReason } from "../../src/etcd/exit-reasons.ts";
import type { DataDir } from "../models/etcd/data-dir.ts";
import { restoredDir } from "../models/etcd/restored.ts";
import type { Server, ServerEnd } from "../models/etcd/server.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";
import type { Scheduled, Scheduler } from "../engine/scheduler.ts";
import type { Config, Objects, Volume } from "./objects.ts";

interface Pod {
  readonly name: string;
  readonly startedFrom: string;
  readonly version: string;
  readonly volume: Volume;
  /** It starts from a snapshot and has not been restored: its init containers run, and not again after that. */
  restoring: { readonly name: string; readonly peerURL: string; readonly token: string } | undefined;
  /** What a start reads: that of the first one, until its member has joined (H3). */
  file: Config;
  server: Server | undefined;
  lines: string[];
  since: number;
  restarts: number;
  quickEnds: number;
  stoppingSince: number | undefined;
  exit: { at: number; cause: ExitCause; detail: string; restore?: RestoreFault } | undefined;
  again: Scheduled | undefined;
}

const STABLE_MS = 30_000;
const LONGEST_DELAY_MS = 10_000;
const GRACE_MS = 10_000;

export class Pods {
  readonly #pods = new Map<string, Pod>();
  readonly #objects: Objects;
  readonly #world: EtcdWorld;
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  #started = 0;
  /** A process is about to start. */
  onStart: (configText: string, hasData: boolean) => void = () => {};
  /** A restore made a data directory. */
  onData: (dir: DataDir) => void = () => {};
  /** Members whose processes receive slowly, by name. */
  readonly slow = new Set<string>();

  constructor(around: { objects: Objects; world: EtcdWorld; scheduler: Scheduler; now: () => number }) {
    this.#objects = around.objects;
    this.#world = around.world;
    this.#scheduler = around.scheduler;
    this.#now = around.now;
  }

  names(): string[] {
    return [...this.#pods.keys()];
  }

  server(name: string): Server | undefined {
    return this.#pods.get(name)?.server;
  }

  facts(name: string): WorkloadFacts {
    const pod = this.#pods.get(name);
    if (!pod) return { state: "absent" };
    const { since, startedFrom, restarts, exit, stoppingSince } = pod;
    if (stoppingSince !== undefined) return { state: "stopping", since: stoppingSince, startedFrom };
    if (exit)
      return {
        state: "exited",
        since: exit.at,
        startedFrom,
        restarts,
        cause: exit.cause,
        detail: exit.detail,
        ...(exit.restore && { restore: exit.restore }),
      };
    return { state: "running", since, startedFrom, restarts };
  }

  /** Makes the pod of a record, unless there is one. */
  create(record: MemberRecord, volume: Volume): void {
    const file = this.#objects.configs.get(record.name);
    if (!file) return;
    const pod: Pod = {
      name: record.name,
      startedFrom: startHash(record),
      version: record.template.version,
      volume,
      restoring: toRestore(record),
      file,
      server: undefined,
      lines: [],
      since: this.#now(),
      restarts: 0,
      quickEnds: 0,
      stoppingSince: undefined,
      exit: undefined,
      again: undefined,
    };
    this.#pods.set(record.name, pod);
    this.#start(pod);
  }

  #start(pod: Pod): void {
    const config = this.#objects.configs.get(pod.name);
    if (!config) return this.#ended(pod, { kind: "exited", code: 1 });
    pod.exit = undefined;
    pod.since = this.#now();
    pod.lines = [];
    if (this.#objects.volumes.get(pod.name) !== pod.volume) {
      pod.lines = ["its volume cannot be mounted"];
      return this.#ended(pod, { kind: "exited", code: 1 });
    }
    if (pod.restoring && !this.#restore(pod, pod.restoring)) return;
    const hasData = this.#objects.read(pod.volume.path) !== undefined;
    if (config.joined) pod.file = config;
    const { text } = pod.file;
    this.onStart(text, hasData);
    pod.server = this.#world.start({
      key: `${pod.name}#${++this.#started}`,
      version: pod.version,
      configText: text,
      print: (line) => pod.lines.push(line),
      onEnd: (end) => this.#ended(pod, end),
    });
    if (pod.server) this.#objects.authorities.started(pod.server, config.from[0].template);
    if (pod.server && this.slow.has(pod.name)) pod.server.speed = 0.1;
  }

  /** What its init containers do: nothing over data that is there. */
  #restore(pod: Pod, member: NonNullable<Pod["restoring"]>): boolean {
    const fault = this.#objects.snapshotFault;
    const isEmpty = this.#objects.read(pod.volume.path) === undefined;
    if (isEmpty && fault !== undefined) {
      pod.exit = { at: this.#now(), cause: "restore-failed", detail: fault, restore: fault };
      this.#again(pod, this.#now());
      return false;
    }
    if (isEmpty) {
      const dir = restoredDir(member);
      this.#objects.write(pod.volume.path, dir);
      this.onData(dir);
    }
    pod.restoring = undefined;
    return true;
  }

  #ended(pod: Pod, end: ServerEnd): void {
    pod.server = undefined;
    if (pod.stoppingSince !== undefined) {
      if (this.#pods.get(pod.name) === pod) this.#pods.delete(pod.name);
      return;
    }
    const at = this.#now();
    const { cause, detail } =
      end.kind === "signalled"
        ? { cause: "killed" as const, detail: `ended by ${end.signal}` }
        : explain(pod.lines, pod.file.joined);
    pod.exit = { at, cause, detail };
    if (meaningOf(cause).restart === "never") return;
    this.#again(pod, at);
  }

  #again(pod: Pod, at: number): void {
    pod.quickEnds = at - pod.since < STABLE_MS ? pod.quickEnds + 1 : 0;
    const delay = pod.quickEnds <= 1 ? 10 : Math.min(LONGEST_DELAY_MS, 1000 * 2 ** (pod.quickEnds - 2));
    pod.again = this.#scheduler.after(delay, () => {
      pod.restarts++;
      this.#start(pod);
    });
  }

  /** Ends with patience, then without. */
  stop(name: string): void {
    const pod = this.#pods.get(name);
    if (!pod || pod.stoppingSince !== undefined) return;
    pod.again?.cancel();
    const { server } = pod;
    if (!server) {
      this.#pods.delete(name);
      return;
    }
    pod.stoppingSince = this.#now();
    this.#world.signal(server, "SIGTERM");
    this.#scheduler.after(GRACE_MS, () => this.#world.signal(server, "SIGKILL"));
  }

  kill(name: string): void {
    const server = this.server(name);
    if (server) this.#world.signal(server, "SIGKILL");
  }
}

function toRestore(record: MemberRecord): Pod["restoring"] {
  const { restore, joined, name, token } = record;
  return restore && !joined ? { name, token, peerURL: peerURLOf(record) } : undefined;
}

/** Who has joined is reported no peers, and asks for them only without its data (H3). */
function explain(lines: readonly string[], joined: boolean): { cause: ExitCause; detail: string } {
  const { reason, said } = readExitReason(lines);
  return {
    cause: joined && reason === "cluster-unreachable" ? "data-missing" : CAUSES[reason],
    detail: said,
  };
}
