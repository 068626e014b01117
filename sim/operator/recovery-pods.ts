/**
 * The Pods of a recovery on the model's disks: what reads a volume, what copies the survivor's data, the etcd that runs on
 * the copy, and what saves its snapshot. As with the real ones the data itself is only read, and a copy is good for one
 * run with --force-new-cluster: a second one is a violation (R54).
 */
import { RECOVERY_CONTAINERS } from "../../src/operator/names.ts";
import { snapshotOn } from "../../src/recovery/places.ts";
import { writeSummary } from "../../src/recovery/summary.ts";
import { writeResult } from "../../src/snapshot/result.ts";
import type { Scheduler } from "../engine/scheduler.ts";
import { summaryOf } from "../machine/rescues.ts";
import type { DataDir } from "../models/etcd/data-dir.ts";
import type { Saved } from "../models/etcd/restored.ts";
import type { Ending, Running, Start } from "../models/kube/nodes/hooks.ts";
import { items, json, type KubeJson } from "../models/kube/object.ts";
import { VOLUMES } from "../../src/operator/render/volumes.ts";

const READS_MS = 1_000;
const SAVES_MS = 3_000;
const IDLE: Running = { stop: () => undefined, kill: () => undefined };

export interface RecoverySight {
  /** What is on a disk. */
  readonly data: (disk: string) => DataDir | undefined;
  /** All of a log was rescued, and these keys are what came of it. */
  onRescued: (dir: DataDir, keys: readonly string[]) => void;
  onViolation: (what: string) => void;
}

export class RecoveryPods {
  readonly #scheduler: Scheduler;
  readonly #sight: RecoverySight;
  /** By the UID of the Pod that made it. */
  readonly #copies = new Map<string, { readonly dir: DataDir; forced: number; isServed: boolean }>();
  /** By disk and path. */
  readonly #snapshots = new Map<string, Saved>();
  readonly #byPlan = new Map<string, readonly string[]>();
  /** How many of the next rescues fail. */
  failing = 0;
  /** How many of the next etcds end by themselves. */
  crashing = 0;
  /** How often etcd ran on a copy. */
  forced = 0;
  /** Planted: the kubelet starts the etcd of a recovery a second time. */
  runsTwice = false;

  constructor(scheduler: Scheduler, sight: RecoverySight) {
    this.#scheduler = scheduler;
    this.#sight = sight;
  }

  /** Of all entries, whether this member had heard of their commit or not; planted faults take fewer. */
  rescuedKeys = (dir: DataDir): readonly string[] => [...dir.olderCopy(dir.log.length).state.keys.keys()];

  keysOf(plan: string | undefined): readonly string[] | undefined {
    return plan === undefined ? undefined : this.#byPlan.get(plan);
  }

  /** What is at a place on a disk. */
  snapshotAt(disk: string, path: string): Saved | undefined {
    return this.#snapshots.get(`${disk}/${path}`);
  }

  /** Undefined for a container that is none of these. */
  start(start: Start): Running | undefined {
    switch (start.container) {
      case RECOVERY_CONTAINERS.inspect:
        return this.#later(start, READS_MS, () => {
          const dir = this.#sight.data(start.disks[VOLUMES.data] ?? "");
          return { exitCode: 0, reason: "Completed", message: writeSummary(summaryOf(dir)) };
        });
      case RECOVERY_CONTAINERS.etcd:
        this.#force(start.pod);
        if (this.runsTwice) this.#force(start.pod);
        if (this.crashing > 0) {
          this.crashing--;
          return this.#later(start, READS_MS, () => this.#crashed(start.pod));
        }
        return { stop: () => start.ended({ exitCode: 0 }), kill: () => undefined };
      case RECOVERY_CONTAINERS.save:
        return this.#later(start, SAVES_MS, () => this.#save(start));
      default:
        return undefined;
    }
  }

  /** The copy. */
  init({ pod, container, disks }: Omit<Start, "ended">): Ending | undefined {
    if (container !== RECOVERY_CONTAINERS.copy) return undefined;
    const flag = flagsOf(pod, "initContainers", container);
    const dir = this.#sight.data(disks[VOLUMES.data] ?? "");
    const isSame =
      dir !== undefined &&
      dir.memberID === flag("member-id") &&
      dir.clusterID === flag("cluster-id") &&
      String(dir.lastTerm) === flag("term") &&
      String(dir.log.length) === flag("index");
    if (!isSame) return failure("it is not what was approved");
    this.#copies.set(pod.metadata.uid, { dir: dir.olderCopy(dir.log.length), forced: 0, isServed: true });
    return undefined;
  }

  #force({ metadata }: KubeJson): void {
    const copy = this.#copies.get(metadata.uid);
    if (!copy) return this.#sight.onViolation("--force-new-cluster without a copy");
    this.forced++;
    if (++copy.forced > 1) this.#sight.onViolation("--force-new-cluster ran twice on the same copy (R54)");
  }

  #crashed({ metadata }: KubeJson): Ending {
    const copy = this.#copies.get(metadata.uid);
    if (copy) copy.isServed = false;
    return { exitCode: 2, reason: "Error" };
  }

  #save({ pod, disks, container }: Start): Ending {
    const copy = this.#copies.get(pod.metadata.uid);
    if (this.failing > 0) {
      this.failing--;
      return failure("etcd did not serve from the copy");
    }
    if (!copy?.isServed) return failure("there is no etcd on a copy");
    const plan = flagsOf(pod, "containers", container)("plan");
    const keys = this.rescuedKeys(copy.dir);
    this.#snapshots.set(`${disks[VOLUMES.data] ?? ""}/${snapshotOn(plan)}`, {
      keys,
      revision: copy.dir.state.revision,
    });
    this.#byPlan.set(plan, keys);
    this.#sight.onRescued(copy.dir, keys);
    const snapshot = {
      object: "snapshot.db",
      size: 20_512,
      storedSize: 20_512,
      sha256: "0".repeat(64),
      revision: copy.dir.state.revision,
      etcdVersion: "3.6.16",
      clusterID: "abc",
      takenFrom: "survivor",
    };
    return { exitCode: 0, reason: "Completed", message: writeResult({ ok: true, snapshot }) };
  }

  #later(start: Start, ms: number, end: () => Ending): Running {
    let isOver = false;
    const over = (how: () => Ending) => {
      if (isOver) return;
      isOver = true;
      start.ended(how());
    };
    this.#scheduler.after(ms, () => over(end));
    return {
      ...IDLE,
      stop: () => over(() => ({ exitCode: 143, reason: "Error" })),
      kill: () => {
        isOver = true;
      },
    };
  }
}

function failure(message: string): Ending {
  return {
    exitCode: 1,
    reason: "Error",
    message: writeResult({ ok: false, reason: "JobFailed", message }),
  };
}

function flagsOf(pod: KubeJson, list: string, container: string): (flag: string) => string {
  const found = items(json(pod["spec"])[list]).find(({ name }) => name === container);
  const args = (found?.["args"] as readonly string[] | undefined) ?? [];
  return (flag) => args[args.indexOf(`--${flag}`) + 1] ?? "";
}
