/**
 * Records of a cluster that is gone. Its finalizer keeps a cluster until its members have ended, but somebody may have
 * taken it off: the garbage collector then deletes the records, whose own finalizer nobody would ever take off again,
 * and their Pods would run on without an owner. They are let go: their Pods end, their volumes stay (I5).
 */
import type { EtcdMember } from "../api/etcd-member.ts";
import type { KubeClient } from "../kube/client.ts";
import { isReason } from "../kube/errors.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Log } from "../kube/log.ts";
import { isControlledBy, keyOf, pods, refOf } from "../kube/resources.ts";
import { findOne } from "./keep.ts";
import { clusterUIDOf } from "./member-object.ts";
import { MEMBER_FINALIZER } from "./names.ts";
import { etcdClusters, etcdMembers } from "./resources.ts";
import type { Stores } from "./stores.ts";

export interface OrphanOptions {
  readonly client: KubeClient;
  readonly stores: Stores;
  readonly events: Pick<EventRecorder, "record">;
  readonly log: Log;
}

/** `uid` is that of the cluster which has the name now, if there is one. */
export async function releaseOrphans(
  options: OrphanOptions,
  key: string,
  uid: string | undefined,
): Promise<void> {
  const { client, stores } = options;
  const orphans = stores.membersOf(key).filter((member) => isOrphan(member, uid));
  if (orphans.length === 0) return;
  // A cache that is behind must not cost a cluster its records.
  const found = await findOne(client, etcdClusters, refOf(key));
  for (const orphan of orphans)
    if (clusterUIDOf(orphan) !== found?.metadata.uid) await release(options, key, orphan);
}

/** Only what is being deleted already: one that was left behind on purpose (`--cascade=orphan`) is a person's. */
function isOrphan({ metadata, ...rest }: EtcdMember, uid: string | undefined): boolean {
  const held = metadata.finalizers?.includes(MEMBER_FINALIZER);
  return (
    metadata.deletionTimestamp !== undefined && held === true && clusterUIDOf({ metadata, ...rest }) !== uid
  );
}

async function release({ client, stores, events, log }: OrphanOptions, key: string, orphan: EtcdMember) {
  const ref = refOf(keyOf(orphan));
  const { uid = "", finalizers = [] } = orphan.metadata;
  const note = `EtcdCluster ${key} was removed without its members being stopped; the Pod of ${ref.name} is stopped now, and its volume is kept`;
  log("warn", `EtcdMember ${keyOf(orphan)}: ${note}`);
  events.record({ regarding: orphan, type: "Warning", reason: "ClusterGone", action: "Release", note });
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
