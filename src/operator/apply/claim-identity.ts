/** What a claim is to say of the volume behind it: what it holds, and when it was last used. */
import type { PersistentVolumeClaim } from "kubernetes-types/core/v1.d.ts";
import type { MemberRecord } from "../../core/record.ts";
import type { MemberView, View } from "../../core/view.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { useOf, volumeIdentity } from "../render/volume-identity.ts";
import type { Cached } from "./cached.ts";
import type { Fields } from "./wanted-object.ts";

type Pods = Pick<Cached, "pod">;

/** What the volume of a claim holds and when it was last used, as far as the claim does not say so. */
export function identityOn(
  { observation }: View,
  { record, workload }: MemberView,
  { metadata: have }: PersistentVolumeClaim,
  cached: Pods,
): Fields | undefined {
  const { cluster, now } = observation;
  const created = podCreated(record, cached);
  const { labels, annotations } = volumeIdentity(cluster, record);
  const use = useOf(have?.annotations, created, workload.state === "absent", now);
  const differing = (
    wanted: Readonly<Record<string, string | null>>,
    found: Readonly<Record<string, string>> = {},
  ) => Object.fromEntries(Object.entries(wanted).filter(([key, value]) => (found[key] ?? null) !== value));
  const patch = {
    labels: differing(labels, have?.labels),
    annotations: differing({ ...annotations, ...use }, have?.annotations),
  };
  const changed = Object.entries(patch).filter(([, map]) => Object.keys(map).length > 0);
  return changed.length === 0 ? undefined : { metadata: Object.fromEntries(changed) };
}

/** Of a member that has joined: when its Pod was made. */
export function podCreated({ name, uid, joined }: MemberRecord, cached: Pods): string | undefined {
  const pod = cached.pod(name);
  return joined && pod && isControlledBy(pod, uid) ? pod.metadata?.creationTimestamp : undefined;
}
