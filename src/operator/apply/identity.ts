/**
 * What tells whose an object is, where somebody took it away: labels of claims and Pods, labels, owner and finalizer
 * of records. Without its label no cache would hold an object, and without its record a member is a ghost.
 */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { isControlledBy, type KubeObject } from "../../kube/resources.ts";
import { LABELS, MEMBER_FINALIZER } from "../names.ts";
import { memberIdentity } from "../records/member-object.ts";
import { memberObjectLabels, ownedByCluster, type Identity } from "../render/metadata.ts";

/** Only our own: others may be somebody else's by now. */
const OURS: ReadonlySet<string> = new Set([LABELS.cluster, LABELS.clusterUID, LABELS.member]);

type Lost = { readonly metadata: object };

/** Of the claim or the Pod of a member, as a patch; undefined when it has them. */
export function lostLabels(cluster: Identity, member: string, { metadata }: KubeObject): Lost | undefined {
  const wanted = Object.entries(memberObjectLabels(cluster, { name: member }));
  const lost = wanted.filter(([label, value]) => OURS.has(label) && metadata?.labels?.[label] !== value);
  return lost.length === 0 ? undefined : { metadata: { labels: Object.fromEntries(lost) } };
}

/** Of a record, as a patch; undefined when it has all. */
export function lostOfRecord(cluster: Identity, member: EtcdMember): Lost | undefined {
  const { labels = {}, ownerReferences = [], finalizers = [], deletionTimestamp } = member.metadata;
  const lost = Object.entries(memberIdentity(cluster)).filter(([label, value]) => labels[label] !== value);
  const others = ownerReferences.filter(({ uid }) => uid !== cluster.uid);
  const held = deletionTimestamp !== undefined || finalizers.includes(MEMBER_FINALIZER);
  const metadata = {
    ...(lost.length > 0 && { labels: Object.fromEntries(lost) }),
    ...(!isControlledBy(member, cluster.uid) && { ownerReferences: [...others, ownedByCluster(cluster)] }),
    ...(!held && { finalizers: [...finalizers, MEMBER_FINALIZER] }),
  };
  return Object.keys(metadata).length === 0 ? undefined : { metadata };
}
