/**
 * Snapshots whose cluster is gone, or cannot be understood: those that wait are told so, what runs is followed to its
 * end, and objects are deleted as policies say. A snapshot outlives its cluster. Those of a cluster that its worker
 * understands are the worker's business.
 */
import { Conflict } from "../../control/platform.ts";
import { SnapshotKeeper } from "../../control/snapshots.ts";
import type { SnapshotEffect } from "../../core/snapshots/effect.ts";
import { isFinal } from "../../core/snapshots/status.ts";
import { textOf } from "../../kube/log.ts";
import { refOf } from "../../kube/resources.ts";
import { executeSnapshot } from "../apply/execute-snapshot.ts";
import { findOne } from "../apply/keep.ts";
import type { DependentOptions, NamedCluster } from "./named-cluster.ts";
import { snapshotStateOf } from "../observe/snapshot-state.ts";
import { etcdClusters } from "../resources.ts";
import { clusterFields } from "../status/cluster-log.ts";

export class SnapshotDependents {
  readonly #options: DependentOptions;
  /** By the key of their cluster. */
  readonly #keepers = new Map<string, SnapshotKeeper>();

  constructor(options: DependentOptions) {
    this.#options = options;
  }

  /** With a time in milliseconds after which there is more to do. Nothing is thrown. */
  async keep(key: string, cluster: NamedCluster): Promise<number | undefined> {
    const { stores, skew, image, log, clock } = this.#options;
    const state =
      cluster.is === "present" ? undefined : snapshotStateOf(stores.snapshotsOf(key), { image, skew });
    if (state === undefined || cluster.is === "present") {
      this.#keepers.delete(key);
      return undefined;
    }
    let keeper = this.#keepers.get(key);
    if (keeper === undefined) {
      keeper = new SnapshotKeeper((effect) => this.#execute(key, cluster, effect), clock);
      this.#keepers.set(key, keeper);
    }
    const now = skew.serverNow();
    const { changed, lookAgainAt, failures } = await keeper.keep({ ...state, now, cluster });
    for (const error of failures)
      log("warn", `could not act on a snapshot of EtcdCluster ${key}: ${textOf(error)}`, {
        ...clusterFields(key),
        error,
      });
    return changed ? 0 : lookAgainAt === undefined ? undefined : Math.max(0, lookAgainAt - now);
  }

  async #execute(key: string, cluster: NamedCluster, effect: SnapshotEffect): Promise<void> {
    const { client, stores, image } = this.#options;
    const { name, namespace = "" } = refOf(key);
    // A cache that is behind must not end a snapshot for good.
    const ends = effect.kind === "UpdateSnapshot" && isFinal(effect);
    if (ends && cluster.is === "absent" && effect.status.phase !== "Succeeded") {
      const found = await findOne(client, etcdClusters, { name, namespace });
      if (found !== undefined) throw new Conflict(`EtcdCluster ${key} exists`);
    }
    await executeSnapshot({ client, stores, namespace, image }, effect);
  }
}
