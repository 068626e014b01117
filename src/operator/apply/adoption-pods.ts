/** The Pods that read the volumes of a former life before a cluster adopts them. They mount them read-only. */
import { mayBeAdopted } from "../../core/assess/adoption.ts";
import { templateFor } from "../../core/template/template.ts";
import type { View } from "../../core/view.ts";
import { isControlledBy, pods, type KubeObject } from "../../kube/resources.ts";
import { wholeDirectory } from "../names.ts";
import { adoptionReading, isAdopting } from "../observe/adoption-facts.ts";
import { hasFailed, inspectionOf, type RecoveryObjects } from "../observe/recovery-facts.ts";
import { inspectPod } from "../render/recovery-pods.ts";
import type { Wanted } from "./wanted-object.ts";

export function adoptionInspections(
  { spec, observation: { cluster, platform } }: View,
  objects: Pick<RecoveryObjects, "pods" | "cluster" | "now">,
  image: string | undefined,
): Wanted[] {
  const { adopt } = spec.storage;
  const { adoption } = platform;
  if (!adopt || !adoption || image === undefined || !isAdopting(cluster)) return [];
  // A Pod of the former life may still write.
  if (adoption.remains.length > 0) return [];
  const asked = adoption.volumes.filter((volume) => !volume.ending && mayBeAdopted(adopt, volume));
  return asked.flatMap((volume): Wanted[] => {
    const reads = adoptionReading(volume);
    const known = inspectionOf(reads, objects);
    // It is deleted first, and made again when it is gone.
    if (known && hasFailed(known, objects.now)) return [];
    const owner = { name: volume.member, uid: "", template: templateFor(spec, spec.version) };
    const { host } = volume;
    const place = host && { node: host.node, directory: wholeDirectory(host.path) };
    const policy = {
      do: "create",
      object: inspectPod(cluster, owner, reads, { image, ...place }),
      known,
      isOurs: (found: KubeObject) => isControlledBy(found, cluster.uid),
    } as const;
    return [{ part: `the Pod that reads ${volume.object}`, resource: pods, policy }];
  });
}
