/**
 * How far the Pod is that rescues the survivor's data, and the snapshot that it made. It tells that in the termination
 * messages of its containers, so that it needs no right in Kubernetes.
 */
import type { Node, Pod } from "kubernetes-types/core/v1.d.ts";
import type { RestoreSource } from "../../api/bootstrap.ts";
import type { PlatformFacts } from "../../core/observation.ts";
import { isFinished } from "../../core/operations/status.ts";
import type { MemberRecord } from "../../core/record.ts";
import { snapshotOn } from "../../recovery/places.ts";
import { parseResult } from "../../snapshot/result.ts";
import { ANNOTATIONS, claimName, LABELS, RECOVERY_CONTAINERS } from "../names.ts";
import { approvalOf } from "../render/recovery-pods.ts";
import { ageOf, containerIn, progressOf, silentNodeOf } from "./helper-pod.ts";
import { isOff } from "./node-facts.ts";
import { isRecoveryPod, type RecoveryObjects } from "./recovery-facts.ts";

/** A rescue that has not begun for so long does not begin. */
export const NOT_BEGUN_MS = 10 * 60_000;
/** A node that has not answered for so long does not come back by itself. */
const STRANDED_MS = 10 * 60_000;

/** The snapshot that was made for the approved plan, or how far that is. */
export function rescueFacts(
  objects: RecoveryObjects,
  directory: (record: MemberRecord) => string,
): Pick<PlatformFacts, "rescued" | "rescue"> {
  for (const operation of objects.operations) {
    const { task } = operation;
    if (task.kind !== "recoverQuorum" || isFinished(operation)) continue;
    const pods = objects.pods.filter(
      (pod) =>
        isRecoveryPod(pod, objects.cluster.uid, "rescue") &&
        pod.metadata?.annotations?.[ANNOTATIONS.plan] === approvalOf(task.approve, operation.uid),
    );
    const [latest] = pods.toSorted((a, b) => attemptOf(b) - attemptOf(a));
    if (latest) return rescueIn(latest, task.approve, objects, directory);
  }
  return {};
}

export function attemptOf({ metadata }: Pod): number {
  return Number(metadata?.labels?.[LABELS.attempt]) || 1;
}

function rescueIn(
  pod: Pod,
  plan: string,
  { members, now, nodes }: RecoveryObjects,
  directory: (record: MemberRecord) => string,
): Pick<PlatformFacts, "rescued" | "rescue"> {
  const attempt = attemptOf(pod);
  const survivor = members.find(({ record }) => record.name === pod.metadata?.labels?.[LABELS.member]);
  const result = parseResult(containerIn(pod, RECOVERY_CONTAINERS.save)?.state?.terminated?.message);
  if (survivor && result?.ok && result.snapshot) {
    const { sha256, revision } = result.snapshot;
    const place = placeOf(survivor.record, plan, directory(survivor.record), pod.spec?.nodeName);
    return { rescued: { plan, ...place, sha256, revision } };
  }
  const { why } = progressOf(pod, now, nodes);
  // With one of its containers ended, nothing comes of it any more.
  const hasFailed = (containerIn(pod, RECOVERY_CONTAINERS.copy)?.state?.terminated?.exitCode ?? 0) !== 0;
  const ended =
    hasFailed ||
    [RECOVERY_CONTAINERS.etcd, RECOVERY_CONTAINERS.save].some(
      (name) => containerIn(pod, name)?.state?.terminated !== undefined,
    );
  const isStarted = [RECOVERY_CONTAINERS.copy, RECOVERY_CONTAINERS.etcd].some((name) => {
    const { running, terminated } = containerIn(pod, name)?.state ?? {};
    return running !== undefined || terminated !== undefined;
  });
  const hasEnded = ended || pod.status?.phase === "Failed";
  const lostNode = hasEnded ? undefined : silentNodeOf(pod, nodes);
  // Whether it still works there is not known: it is neither given up at once nor waited for without end.
  if (lostNode !== undefined && nodes) {
    const node = nodes.get(lostNode);
    const stopped = { plan, attempt, lostNode, why };
    if (isOff(node)) return { rescue: { ...stopped, state: "failed" } };
    return { rescue: { ...stopped, state: silentFor(node, now) >= STRANDED_MS ? "stranded" : "running" } };
  }
  const failed =
    hasEnded ||
    pod.metadata?.deletionTimestamp !== undefined ||
    (!isStarted && ageOf(pod, now) >= NOT_BEGUN_MS);
  return { rescue: { plan, attempt, state: failed ? "failed" : "running", why } };
}

/** Since it last reported. */
function silentFor(node: Node | undefined, now: number): number {
  const ready = node?.status?.conditions?.find(({ type }) => type === "Ready");
  return now - (Date.parse(ready?.lastTransitionTime ?? "") || now);
}

/** A file on the survivor's claim; where its data is a directory of a node, a file of that node. */
function placeOf(
  { name, template }: MemberRecord,
  plan: string,
  directory: string,
  node: string | undefined,
): { source: RestoreSource; node?: string } {
  const path = snapshotOn(plan);
  if (template.storage.medium !== "HostPath")
    return { source: { pvc: { claimName: claimName(name), path } } };
  return { source: { file: { path: `${directory}/${path}` } }, ...(node !== undefined && { node }) };
}
