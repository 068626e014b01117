/**
 * What tells whose an object is, given back where somebody took it away: labels of claims and Pods, labels, owner and
 * finalizer of records. Without its label no cache would hold an object, and without its record a member is a ghost.
 */
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { MemberView, View } from "../../core/view.ts";
import { isControlledBy, type KubeObject, type Resource } from "../../kube/resources.ts";
import type { Unseen } from "../cache/live-reads.ts";
import { memberIdentity } from "../records/member-object.ts";
import { LABELS, MEMBER_FINALIZER } from "../names.ts";
import { memberObjectLabels, ownedByCluster } from "../render/metadata.ts";
import { claims, etcdMembers } from "../resources.ts";
import type { ApplyContext, Tally } from "./tally.ts";

/** Only our own: others may be somebody else's by now. */
const OURS: ReadonlySet<string> = new Set([LABELS.cluster, LABELS.clusterUID, LABELS.member]);

export async function restoreUnseen(context: ApplyContext, view: View, unseen: Unseen, tally: Tally) {
  const labels = memberObjectLabels(view.observation.cluster, { name: unseen.member });
  await restoreLabels(context, unseen.resource, unseen.object, labels, tally);
}

export async function restoreClaim(
  context: ApplyContext,
  view: View,
  { record }: MemberView,
  claim: PersistentVolumeClaim,
  tally: Tally,
): Promise<void> {
  await restoreLabels(context, claims, claim, memberObjectLabels(view.observation.cluster, record), tally);
}

async function restoreLabels(
  { client, contests }: ApplyContext,
  resource: Resource,
  object: KubeObject,
  wanted: Readonly<Record<string, string>>,
  tally: Tally,
): Promise<void> {
  const { name = "", namespace = "", uid = "", labels = {} } = object.metadata ?? {};
  const lost = Object.entries(wanted).filter(([label, value]) => OURS.has(label) && labels[label] !== value);
  if (lost.length === 0) return;
  const patch = { metadata: { labels: Object.fromEntries(lost) } };
  const write = () => client.patch(resource, { name, namespace }, patch, { uid });
  await contests.write(resource, object, patch, write);
  tally.changed = true;
}

export async function restoreRecord(
  { client, stores, contests }: ApplyContext,
  view: View,
  { record }: MemberView,
  tally: Tally,
): Promise<void> {
  const { cluster } = view.observation;
  const object = stores.member(`${cluster.namespace}/${record.name}`);
  if (object?.metadata.uid !== record.uid) return;
  const metadata = lostOf(object, cluster);
  if (Object.keys(metadata).length === 0) return;
  const { name, namespace = "", uid = "", resourceVersion = "" } = object.metadata;
  const write = () => client.patch(etcdMembers, { name, namespace }, { metadata }, { uid, resourceVersion });
  await contests.write(etcdMembers, object, { metadata }, write);
  tally.changed = true;
}

function lostOf(member: EtcdMember, cluster: Parameters<typeof ownedByCluster>[0]) {
  const { labels = {}, ownerReferences = [], finalizers = [], deletionTimestamp } = member.metadata;
  const lost = Object.entries(memberIdentity(cluster)).filter(([label, value]) => labels[label] !== value);
  const others = ownerReferences.filter(({ uid }) => uid !== cluster.uid);
  const held = deletionTimestamp !== undefined || finalizers.includes(MEMBER_FINALIZER);
  return {
    ...(lost.length > 0 && { labels: Object.fromEntries(lost) }),
    ...(!isControlledBy(member, cluster.uid) && { ownerReferences: [...others, ownedByCluster(cluster)] }),
    ...(!held && { finalizers: [...finalizers, MEMBER_FINALIZER] }),
  };
}
