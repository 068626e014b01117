/**
 * Records of a cluster that is gone. Its finalizer keeps a cluster until its members have ended, but somebody may have
 * taken it off: the garbage collector then deletes the records, whose own finalizer nobody would ever take off again,
 * and their Pods would run on without an owner. They are let go: their Pods end, their volumes stay (I5).
 */
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EventReason } from "../../core/messages/event-reasons.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isReason } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { textOf, type Log } from "../../kube/log.ts";
import { isControlledBy, keyOf, pods, refOf } from "../../kube/resources.ts";
import type { Clock } from "../../seams/clock.ts";
import { findOne } from "./keep.ts";
import { clusterUIDOf } from "../records/member-object.ts";
import { MEMBER_FINALIZER } from "../names.ts";
import { clusterFields } from "../status/cluster-log.ts";
import { etcdClusters, etcdMembers } from "../resources.ts";
import type { Stores } from "../cache/stores.ts";

export interface OrphanOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  readonly events: Pick<EventRecorder, "record">;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the API server did not let go. */
const AGAIN_MS = 10_000;

export class Orphans {
  readonly #options: OrphanOptions;
  /** By the key of their cluster, until when those that could not be let go are left, by the monotonic clock. */
  readonly #until = new Map<string, number>();

  constructor(options: OrphanOptions) {
    this.#options = options;
  }

  /**
   * `uid` is that of the cluster which has the name now, if there is one: it is not to wait for them, so that nothing
   * is thrown. With a time when they have to be tried again.
   */
  async release(key: string, uid: string | undefined): Promise<{ readonly againMs: number } | undefined> {
    const { client, stores, clock, log } = this.#options;
    const { name } = refOf(key);
    const orphans = stores.membersOf(key).filter((member) => isOrphan(member, name, uid));
    const wait = (this.#until.get(key) ?? 0) - clock.monotonic();
    if (orphans.length > 0 && wait > 0) return { againMs: wait };
    this.#until.delete(key);
    if (orphans.length === 0) return undefined;
    try {
      // A cache that is behind must not cost a cluster its records.
      const found = await findOne(client, etcdClusters, refOf(key));
      const ended = orphans.filter((orphan) => clusterUIDOf(orphan) !== found?.metadata.uid);
      const attempts = await Promise.allSettled(ended.map((orphan) => release(this.#options, key, orphan)));
      const failed = attempts.find((one) => one.status === "rejected");
      if (failed) throw failed.reason;
      return undefined;
    } catch (error) {
      log("warn", `could not delete the EtcdMembers of the deleted EtcdCluster ${key}: ${textOf(error)}`, {
        ...clusterFields(key),
        error,
      });
      this.#until.set(key, clock.monotonic() + AGAIN_MS);
      return { againMs: AGAIN_MS };
    }
  }
}

/**
 * By the spec, which never changes: with a label or an owner that somebody wrote, `membersOf` finds records of other
 * clusters too, and those live. And only what is being deleted already: nobody else is about to stop it.
 */
function isOrphan(member: EtcdMember, cluster: string, uid: string | undefined): boolean {
  const { metadata, spec } = member;
  const held = metadata.finalizers?.includes(MEMBER_FINALIZER) ?? false;
  const isEnding = metadata.deletionTimestamp !== undefined && held;
  return isEnding && spec.cluster === cluster && clusterUIDOf(member) !== uid;
}

async function release({ client, stores, events, log }: OrphanOptions, key: string, orphan: EtcdMember) {
  const ref = refOf(keyOf(orphan));
  const { uid = "", finalizers = [] } = orphan.metadata;
  const reason: EventReason = "ClusterGone";
  const note = `EtcdCluster ${key} was deleted without its finalizer; deleting the Pod of ${ref.name} and retaining its volume`;
  log("warn", note, { ...clusterFields(key), member: ref.name, reason });
  events.record({ regarding: orphan, type: "Warning", reason, action: "Release", note });
  const pod = stores.pod(keyOf(orphan));
  if (pod?.metadata?.uid !== undefined && isControlledBy(pod, uid))
    await client.delete(pods, ref, { uid: pod.metadata.uid });
  const rest = finalizers.filter((one) => one !== MEMBER_FINALIZER);
  try {
    await client.patch(etcdMembers, ref, { metadata: { finalizers: rest } }, { uid });
  } catch (error) {
    if (!isReason(error, "NotFound", "Conflict")) throw error;
  }
}
