/**
 * The kubelet of one node: a worker for each Pod that was given to it. Cut off it goes on with what it has; without
 * power nothing of it is left but what is on disks.
 */
import { Hand, Later, type Surround } from "../controllers.ts";
import { claims } from "../kinds/claim.ts";
import { pods } from "../kinds/pod.ts";
import { configMaps, secrets } from "../kinds/simple.ts";
import { json, type KubeJson } from "../object.ts";
import type { Hooks } from "./hooks.ts";
import { LateFiles, WRITES_AFTER_MS } from "./late-files.ts";
import type { Mounts } from "./mounts.ts";
import { nodeOf } from "./placing.ts";
import { podStatus, type PodFacts } from "./pod-status.ts";
import { PodWorker } from "./pod-worker.ts";

export interface KubeletOptions extends Surround {
  readonly name: string;
  readonly index: number;
  readonly hooks: Hooks;
  readonly mounts: Mounts;
  /** What the clock of its node shows. */
  readonly now: () => number;
}

export type Power = "on" | "off" | "frozen";

const MOUNTED = new Set([secrets, configMaps, claims]);

export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #hand: Hand;
  readonly #later: Later;
  readonly #workers = new Map<string, PodWorker>();
  /** What ran when the power went, by the UID of its Pod. */
  readonly #remembered = new Map<string, PodFacts>();
  readonly #files: LateFiles;
  #power: Power = "on";
  #connected = true;
  #boots = 1;
  #addresses = 0;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#hand = new Hand(options.server, "kubelet");
    this.#later = new Later(options, (key) => this.#look(key));
    const { mounts, server, scheduler } = options;
    this.#files = new LateFiles(
      (pod, volume) => mounts.files(pod, volume),
      () => server.now(),
      (ms, work) => void scheduler.after(ms, work),
    );
    options.server.storage.onChange(({ kind, key, before, after }) => {
      if (kind === pods && [before?.object, after.object].some((pod) => pod && nodeOf(pod) === options.name))
        this.#later.wake(key);
      else if (MOUNTED.has(kind)) for (const waiting of this.#workers.keys()) this.#later.wake(waiting);
    });
  }

  get name(): string {
    return this.#options.name;
  }

  /** From then on: how long after it saw a change of a Pod it writes the files; as measured, unless it is said. */
  writeFilesAfter(ms = WRITES_AFTER_MS): void {
    this.#files.writesAfterMs = ms;
  }

  get power(): Power {
    return this.#power;
  }

  /** The control plane hears of it. */
  get isHeard(): boolean {
    return this.#power === "on" && this.#connected;
  }

  get boots(): number {
    return this.#boots;
  }

  /** Pods that have a process here. */
  get workers(): ReadonlyMap<string, PodWorker> {
    return this.#workers;
  }

  crash(): void {
    if (this.#power === "off") return;
    this.#power = "off";
    for (const worker of this.#workers.values()) {
      this.#remembered.set(worker.pod.metadata.uid, worker.facts);
      worker.kill();
    }
    this.#workers.clear();
    this.#files.forget();
  }

  boot(): void {
    if (this.#power === "on") return;
    this.#power = "on";
    this.#boots++;
    this.#lookAll();
  }

  freeze(): void {
    if (this.#power !== "on") return;
    this.#power = "frozen";
    for (const worker of this.#workers.values()) worker.freeze();
  }

  thaw(): void {
    if (this.#power !== "frozen") return;
    this.#power = "on";
    for (const worker of this.#workers.values()) worker.thaw();
    this.#lookAll();
  }

  cut(): void {
    this.#files.cut();
    this.#connected = false;
  }

  heal(): void {
    this.#connected = true;
    this.#lookAll();
  }

  evict(key: string, message: string): void {
    this.#workers.get(key)?.evict(message);
  }

  #lookAll(): void {
    const given = this.#options.server.list(pods).filter((pod) => nodeOf(pod) === this.name);
    const keys = given.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    for (const key of new Set([...keys, ...this.#workers.keys()])) this.#later.wake(key);
  }

  #look(key: string): void {
    if (!this.isHeard) return;
    const pod = this.#options.server.get(pods, key);
    let worker = this.#workers.get(key);
    if (worker && worker.pod.metadata.uid !== pod?.metadata.uid) {
      // Deleted without waiting for us: it ends, and its name may be another's already.
      worker.kill();
      this.#files.forget(worker.pod.metadata.uid);
      this.#workers.delete(key);
      worker = undefined;
    }
    if (!pod || nodeOf(pod) !== this.name) return;
    const ended = ["Failed", "Succeeded"].includes(String(json(pod["status"])["phase"]));
    if (pod.metadata.deletionTimestamp !== undefined) return this.#end(key, pod, worker);
    if (ended) return;
    if (worker) {
      this.#files.see(pod);
      worker.look();
      this.#report(key);
    } else this.#begin(key, pod);
  }

  #begin(key: string, pod: KubeJson): void {
    const { name, index, hooks, mounts, scheduler, random, now } = this.#options;
    const address = ++this.#addresses;
    const worker: PodWorker = new PodWorker({
      pod,
      node: name,
      hostIP: `10.77.0.${10 + index}`,
      ip: `10.244.${index}.${1 + (address % 250)}`,
      scheduler,
      random,
      now,
      hooks,
      obstacle: (of) => mounts.obstacle(of, name),
      disks: (of) => mounts.disks(of, name, this.#boots),
      files: (of, volume) => this.#files.of(of, volume, this.isHeard),
      onChange: () => this.#later.wake(key),
      onStopped: () => this.#later.wake(key),
    });
    this.#workers.set(key, worker);
    const before = this.#remembered.get(pod.metadata.uid);
    if (before) worker.inherit(before, now());
    this.#remembered.delete(pod.metadata.uid);
    this.#report(key);
  }

  /** Grace, then the last word: nobody else may say that it has ended. */
  #end(key: string, pod: KubeJson, worker: PodWorker | undefined): void {
    const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1_000;
    worker?.stop(graceMs);
    if (worker && worker.facts.main.some(({ state }) => state.is === "running")) return this.#report(key);
    if (worker) this.#report(key);
    this.#files.forget(pod.metadata.uid);
    this.#workers.delete(key);
    this.#hand.delete(pods, key, { uid: pod.metadata.uid, gracePeriodSeconds: 0 });
  }

  #report(key: string): void {
    const worker = this.#workers.get(key);
    if (!worker || !this.isHeard) return;
    this.#hand.changeStatus(pods, key, (pod) =>
      pod.metadata.uid === worker.pod.metadata.uid
        ? podStatus(pod, worker.facts, this.#options.now())
        : undefined,
    );
  }
}
