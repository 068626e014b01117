/**
 * Pods: made when the record permits it, never replaced. What changes in place on those that exist: the gate of a Pod
 * that is its own volume (H4), labels and annotations, resources.
 */
import type { Pod } from "kubernetes-types/core/v1.d.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { shouldRun } from "../../core/assess/should-run.ts";
import { isVolatile, startHash } from "../../core/template/template.ts";
import type { MemberView, View } from "../../core/view.ts";
import { isControlledBy, pods } from "../../kube/resources.ts";
import { keepCreated } from "./keep.ts";
import { ANNOTATIONS, claimName } from "../names.ts";
import { partsOf } from "./not-made.ts";
import { podGiven, podMetadataPatch, podRole } from "./pod-metadata.ts";
import { withGiven } from "../render/given.ts";
import { memberPod } from "../render/pod.ts";
import { etcdMembers } from "../resources.ts";
import { lacksTouch, touch } from "./start-latch.ts";
import type { ApplyContext, Outcomes } from "./outcomes.ts";

/** `isConfigured`: its Secret is there; a Pod without it would wait for its volume. */
export async function applyPod(
  context: ApplyContext,
  view: View,
  member: MemberView,
  isConfigured: boolean,
  outcomes: Outcomes,
): Promise<void> {
  const { cluster } = view.observation;
  const { record, workload } = member;
  const key = `${cluster.namespace}/${record.name}`;
  const pod = context.stores.pod(key);
  const object = context.stores.member(key);
  if (!object || (pod && !isControlledBy(pod, record.uid))) return;
  if (pod) return await changePod(context, view, member, pod, object, isConfigured, outcomes);
  // Its Pod is its volume: it has to exist before the record can permit it.
  const gated = isVolatile(record.template) && record.volumeUID === undefined && !record.leaving;
  if (!isConfigured || workload.state !== "absent" || !(gated || shouldRun(view.observation, member))) return;
  // A Pod names its claim and not the UID: what came into its place since the view was made is not its volume (H2).
  if (record.template.storage.medium === "Persistent") {
    const claim = context.stores.claim(`${cluster.namespace}/${claimName(record.name)}`);
    if (claim?.metadata?.uid !== record.volumeUID) return;
  }
  // Without it etcd would find no data, and end: it waits until the operator knows its image again.
  if (record.restore && !record.joined && context.image === undefined) return;
  const wanted = wantedPod(context, view, member, object, undefined, gated);
  const kept = await keepCreated(context.client, pods, wanted, undefined, (found) =>
    isControlledBy(found, record.uid),
  );
  outcomes.note(pods, kept);
}

function wantedPod(
  { image }: Pick<ApplyContext, "image">,
  view: View,
  member: MemberView,
  object: EtcdMember,
  pod: Pod | undefined,
  gated: boolean,
): Pod {
  const { record } = member;
  const { [ANNOTATIONS.node]: pinned, [ANNOTATIONS.directory]: directory } =
    object.metadata.annotations ?? {};
  // What a recovery left in a directory of a node can be read only there.
  const isThere = record.restore?.source.file !== undefined && !record.joined;
  const node = pinned ?? (isThere ? view.observation.cluster.marks.recovered?.node : undefined);
  const how = {
    role: podRole(view, member, pod),
    gated,
    ...(node !== undefined && { node }),
    ...(directory !== undefined && { directory }),
    ...(image !== undefined && { image }),
  };
  const { cluster } = view.observation;
  return withGiven(memberPod(cluster, record, how), podGiven(cluster, record));
}

async function changePod(
  context: ApplyContext,
  view: View,
  member: MemberView,
  pod: Pod,
  object: EtcdMember,
  isConfigured: boolean,
  outcomes: Outcomes,
): Promise<void> {
  const { client, resizing, contests, latches } = context;
  const { record } = member;
  const { name = "", namespace = "", uid = "", deletionTimestamp } = pod.metadata ?? {};
  if (deletionTimestamp !== undefined) return;
  const gated = (pod.spec?.schedulingGates?.length ?? 0) > 0;
  const open = gated && isConfigured && record.volumeUID === uid && shouldRun(view.observation, member);
  const wanted = wantedPod(context, view, member, object, pod, gated);
  const { cluster } = view.observation;
  const isUnderstood = cluster.invalid === undefined;
  const metadata = podMetadataPatch(pod, wanted, podGiven(cluster, record), isUnderstood)?.metadata;
  if (open) {
    // It starts now, and with what its record says now.
    const start = { annotations: { ...metadata?.annotations, [ANNOTATIONS.startedFrom]: startHash(record) } };
    const patch = { metadata: { ...metadata, ...start }, spec: { schedulingGates: null } };
    await client.patch(pods, { name, namespace }, patch, { uid });
    outcomes.changed = true;
  } else if (metadata) {
    await outcomes.part(partsOf.labels(name), async () => {
      const write = () => client.patch(pods, { name, namespace }, { metadata }, { uid });
      await contests.write(pods, pod, { metadata }, write);
      outcomes.changed = true;
    });
  }
  if (isConfigured && lacksTouch(pod, record)) {
    await outcomes.part(partsOf.latch(name), async () => {
      await touch({ client, contests, latches }, pod);
      outcomes.changed = true;
    });
  }
  if (member.resizing && (await resizing.proceed(pod, record))) outcomes.changed = true;
  // Where its directory is; from now on it runs there and nowhere else.
  const node = pod.spec?.nodeName;
  const known = object.metadata.annotations?.[ANNOTATIONS.node];
  if (record.template.storage.medium !== "HostPath" || !node || known !== undefined) return;
  const pin = { metadata: { annotations: { [ANNOTATIONS.node]: node } } };
  await client.patch(etcdMembers, { name, namespace }, pin, { uid: record.uid });
  outcomes.changed = true;
}
