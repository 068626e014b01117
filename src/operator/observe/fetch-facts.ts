/**
 * What the Pod of a restore in place says: the snapshot is on its volume, read to its end and right; or how far it is, or
 * why it cannot be restored. It tells that in the termination message of its container, so that it needs no right in
 * Kubernetes.
 */
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import { PASSING_FAULTS, type RestoreRecipe } from "../../api/bootstrap.ts";
import type { ClusterFacts, FetchedSnapshot, OperationFacts, PlatformFacts } from "../../core/observation.ts";
import { isFinished } from "../../core/operations/status.ts";
import type { MemberTemplate } from "../../core/record.ts";
import { isControlledBy } from "../../kube/resources.ts";
import { jsonObject } from "../../snapshot/json-object.ts";
import { progressText } from "../../snapshot/progress.ts";
import { readFailure, readStaged } from "../../snapshot/stage.ts";
import { ANNOTATIONS, FETCH_CONTAINER, LABELS, restoreClaimName } from "../names.ts";
import { FETCH_TASK, fetchedPlace } from "../render/fetch-pod.ts";
import { approvalOf } from "../render/recovery-pods.ts";
import { ageOf, containerIn, progressOf } from "./helper-pod.ts";
import type { Transfers } from "./job-facts.ts";
import type { Nodes } from "./node-facts.ts";
import { attemptOf, NOT_BEGUN_MS } from "./rescue-facts.ts";

export interface FetchObjects {
  readonly cluster: ClusterFacts;
  /** Of the members that will be. */
  readonly template: MemberTemplate;
  /** Of the cluster, of whatever kind. */
  readonly pods: readonly Pod[];
  readonly claims: readonly PersistentVolumeClaim[];
  readonly operations: readonly OperationFacts[];
  readonly nodes?: Nodes;
  readonly transfers?: Transfers | undefined;
  /** By the API server's clock. */
  readonly now: number;
}

export function isFetch({ metadata }: Pick<Pod, "metadata">, clusterUID: string): boolean {
  return metadata?.labels?.[LABELS.task] === FETCH_TASK && isControlledBy({ metadata }, clusterUID);
}

/** The operation that restores a snapshot in place and has not begun the new life; its plan is approved. */
export function runningRestore({
  cluster,
  operations,
}: Pick<FetchObjects, "cluster" | "operations">): { plan: string; approval: string } | undefined {
  for (const operation of operations) {
    const { task, status, uid, deleting } = operation;
    if (task.kind !== "restore" || task.approve === undefined || deleting || isFinished(operation)) continue;
    if (status.phase !== "Running" || uid === cluster.marks.recovered?.operation) continue;
    return { plan: task.approve, approval: approvalOf(task.approve, uid) };
  }
  return undefined;
}

export function fetchFacts(objects: FetchObjects): Pick<PlatformFacts, "fetched" | "fetch"> {
  const restore = runningRestore(objects);
  if (!restore) return {};
  const { plan, approval } = restore;
  const pods = objects.pods.filter(
    (pod) => isFetch(pod, objects.cluster.uid) && pod.metadata?.annotations?.[ANNOTATIONS.plan] === approval,
  );
  const [latest] = pods.toSorted((a, b) => attemptOf(b) - attemptOf(a));
  return latest ? factsIn(latest, plan, objects) : notedFacts(plan, approval, objects);
}

/** What is written on the claim while the Pod is there. */
export function fetchedNote(
  approval: string,
  { size, sha256, revision, recipe }: Pick<FetchedSnapshot, "size" | "sha256" | "revision" | "recipe">,
): string {
  return JSON.stringify({ approval, staged: { size, sha256, revision }, recipe });
}

/** A Pod that has ended may vanish while members stop, as with its node: the snapshot is still there, and they stay stopped. */
function notedFacts(plan: string, approval: string, objects: FetchObjects): Pick<PlatformFacts, "fetched"> {
  const source = fetchedPlace(objects.cluster, plan, objects.template);
  const text = claimFor(plan, objects)?.metadata?.annotations?.[ANNOTATIONS.fetched];
  const [staged, noted] = [readStaged(text ?? ""), jsonObject(text)];
  if ("file" in source || !staged || noted?.["approval"] !== approval) return {};
  const recipe = noted["recipe"] as RestoreRecipe | undefined;
  return { fetched: { plan, source, ...staged, ...(recipe && { recipe }) } };
}

/** That which holds the snapshot, unless it is about to go. */
export function claimFor(
  plan: string,
  { cluster, claims }: Pick<FetchObjects, "cluster" | "claims">,
): PersistentVolumeClaim | undefined {
  const name = restoreClaimName(cluster.name, plan);
  const claim = claims.find(({ metadata }) => metadata?.name === name);
  const isThere = claim?.metadata?.deletionTimestamp === undefined;
  return claim && isThere && isControlledBy(claim, cluster.uid) ? claim : undefined;
}

function factsIn(pod: Pod, plan: string, objects: FetchObjects): Pick<PlatformFacts, "fetched" | "fetch"> {
  const { cluster, template, nodes, now } = objects;
  const attempt = attemptOf(pod);
  const { terminated, running } = containerIn(pod, FETCH_CONTAINER)?.state ?? {};
  const staged = terminated?.exitCode === 0 ? readStaged(terminated.message ?? "") : undefined;
  const failed = (why: string, definite = false) => ({
    fetch: { plan, attempt, state: "failed", why, ...(definite && { definite }) } as const,
  });
  if (staged) {
    const source = fetchedPlace(cluster, plan, template);
    // Whether it is what was approved is seen by the hash of its plan.
    const recipe = jsonObject(pod.metadata?.annotations?.[ANNOTATIONS.recipe]) as RestoreRecipe | undefined;
    const fetched = { plan, source, ...staged, ...(recipe && { recipe }) };
    if ("file" in source) return { fetched: { ...fetched, node: pod.spec?.nodeName } };
    return claimFor(plan, objects)
      ? { fetched }
      : failed(
          `PersistentVolumeClaim ${restoreClaimName(cluster.name, plan)}, which held the snapshot, was deleted`,
        );
  }
  const failure = terminated && readFailure(terminated.message ?? "");
  if (failure) return failed(failure.message, !PASSING_FAULTS.has(failure.fault));
  const { why } = progressOf(pod, now, nodes);
  const isOver =
    terminated !== undefined ||
    pod.status?.phase === "Failed" ||
    pod.metadata?.deletionTimestamp !== undefined ||
    (running === undefined && ageOf(pod, now) >= NOT_BEGUN_MS);
  if (isOver) return failed(why);
  const transfer = running && objects.transfers?.(pod.metadata?.uid ?? "");
  const far = transfer ? `${why}: ${progressText(transfer.done, transfer.of)}` : why;
  return { fetch: { plan, attempt, state: "running", why: far } };
}
