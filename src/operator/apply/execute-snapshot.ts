/**
 * The effects for snapshots, one call or two each. What was done before counts as done; what has another UID or version
 * than was decided on is left alone, and looked at again (H9, H10).
 */
import { IMAGE_REPOSITORY } from "../../api/etcd-cluster-spec.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { Conflict } from "../../control/platform.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { SnapshotEffect } from "../../core/snapshots/effect.ts";
import type { SnapshotFacts } from "../../core/snapshots/facts.ts";
import { isReason } from "../../kube/errors.ts";
import { isControlledBy, type Ref } from "../../kube/resources.ts";
import { ANNOTATIONS, SNAPSHOT_FINALIZER } from "../names.ts";
import { snapshotJob } from "../render/snapshot-job.ts";
import type { EtcdImage } from "../render/verify-pod.ts";
import { etcdSnapshots, jobs } from "../resources.ts";
import { executeFollower } from "./execute-follower.ts";
import { findOne } from "./keep.ts";
import { executeSchedule } from "./execute-schedule.ts";
import { mergePatch } from "./merge-patch.ts";
import { ensureServiceAccount } from "./snapshot-account.ts";
import type { SnapshotContext } from "./snapshot-context.ts";

export async function executeSnapshot(context: SnapshotContext, effect: SnapshotEffect): Promise<void> {
  try {
    await execute(context, effect);
  } catch (error) {
    throw isReason(error, "Conflict") ? new Conflict(error.message, { cause: error }) : error;
  }
}

async function execute(context: SnapshotContext, effect: SnapshotEffect): Promise<void> {
  const { client, namespace } = context;
  switch (effect.kind) {
    case "UpdateSnapshot": {
      const { snapshot } = effect;
      const object = read(context, snapshot);
      const patch = mergePatch({ ...object.status }, { ...effect.status });
      const { uid, resourceVersion } = snapshot;
      if (!patch) return;
      const version = { uid, resourceVersion };
      const after = await client.patchStatus(etcdSnapshots, refOf(context, snapshot), patch, version);
      // A definition from before verifications drops it: the same would be decided for ever.
      if (effect.status.verification !== undefined && after.status?.verification === undefined)
        throw new Error(
          `the API server dropped status.verification of EtcdSnapshot ${snapshot.name}: its CustomResourceDefinition is older than this operator; apply the definitions of this release`,
        );
      return;
    }
    case "StartJob":
      return await startJob(context, effect);
    case "DeleteJob":
      // The Job stays until its Pods are gone, so that the next one never meets a Pod that still writes.
      await client.delete(
        jobs,
        { name: effect.job, namespace },
        { uid: effect.uid, propagation: "Foreground" },
      );
      return;
    case "HoldSnapshot":
      return await setHeld(context, effect.snapshot, true);
    case "ReleaseSnapshot":
      return await setHeld(context, effect.snapshot, false);
    case "ForgetSnapshot": {
      const { uid, resourceVersion } = effect.snapshot;
      await client.delete(etcdSnapshots, refOf(context, effect.snapshot), { uid, resourceVersion });
      return;
    }
    case "RequestVerification": {
      const { uid, resourceVersion } = effect.snapshot;
      const annotations = { [ANNOTATIONS.verify]: effect.request };
      await client.patch(
        etcdSnapshots,
        refOf(context, effect.snapshot),
        { metadata: { annotations } },
        { uid, resourceVersion },
      );
      return;
    }
    case "CreateSnapshot":
    case "CreateSnapshotBefore":
    case "CreatePoint":
    case "UpdateSchedule":
    case "PruneSnapshot":
      return await executeSchedule(context, effect);
    case "StartFollower":
    case "StopFollower":
      return await executeFollower(context, effect);
  }
}

async function startJob(
  context: SnapshotContext,
  effect: Extract<SnapshotEffect, { kind: "StartJob" }>,
): Promise<void> {
  const { client, namespace, image, secret } = context;
  const { snapshot, task, attempt, endpoints, life, hashKv, etcdVersion, size } = effect;
  if (image === undefined) throw new TypeError("a Job was decided on without knowing the operator's image");
  const version = task === "verify" ? (snapshot.status.etcdVersion ?? "") : etcdVersion;
  const etcd = version === undefined ? undefined : (context.etcdImage ?? publishedImage)(version);
  const how = { endpoints, life, hashKv, secret, etcd, etcdVersion, size };
  const wishes = { namespace, image, task, attempt, ...how };
  const job = snapshotJob(snapshot, wishes);
  const name = job.metadata?.name ?? "";
  try {
    await ensureServiceAccount(context, snapshot.spec.serviceAccountName);
    await client.create(jobs, job);
  } catch (error) {
    if (isReason(error, "AlreadyExists")) {
      const found = await findOne(client, jobs, { name, namespace });
      if (found && !isControlledBy(found, snapshot.uid))
        throw new Error(`Job ${namespace}/${name} exists and belongs to another owner; delete it`, {
          cause: error,
        });
      // The cache was behind, and shows it from now on.
      if (found) client.found(jobs, found);
      return;
    }
    // A namespace that is being deleted takes nothing new: the object stays, and nothing else does for its sake.
    if (task === "delete" && isEndingNamespace(error)) return await setHeld(context, snapshot, false);
    throw error;
  }
}

const publishedImage = (version: string): EtcdImage => ({
  image: `${IMAGE_REPOSITORY}:v${version}`,
  pullPolicy: "IfNotPresent",
  pullSecrets: [],
});

/** As the cluster pulls it; a digest is that of one version. */
export function imageFor({ image, version: current }: Pick<ClusterFacts["spec"], "image" | "version">) {
  return (version: string): EtcdImage => ({
    image:
      image.digest !== undefined && version === current
        ? `${image.repository}@${image.digest}`
        : `${image.repository}:v${version}`,
    pullPolicy: image.pullPolicy,
    pullSecrets: image.pullSecrets,
  });
}

function isEndingNamespace(error: unknown): boolean {
  return isReason(error, "Forbidden") && error.causes.some(({ reason }) => reason === "NamespaceTerminating");
}

async function setHeld(context: SnapshotContext, snapshot: SnapshotFacts, held: boolean): Promise<void> {
  const { metadata } = read(context, snapshot);
  const others = metadata.finalizers?.filter((one) => one !== SNAPSHOT_FINALIZER) ?? [];
  const finalizers = held ? [...others, SNAPSHOT_FINALIZER] : others;
  const { uid, resourceVersion } = snapshot;
  const version = { uid, resourceVersion };
  await context.client
    .patch(etcdSnapshots, refOf(context, snapshot), { metadata: { finalizers } }, version)
    .catch((error: unknown) => ignore(error, held ? undefined : "NotFound"));
}

/** As it was decided on. */
function read(
  { stores, namespace }: SnapshotContext,
  { name, resourceVersion }: SnapshotFacts,
): EtcdSnapshot {
  const object = stores.snapshot(`${namespace}/${name}`);
  if (object?.metadata.resourceVersion !== resourceVersion)
    throw new Conflict(`EtcdSnapshot ${name} was changed or deleted`);
  return object;
}

function refOf({ namespace }: SnapshotContext, { name }: SnapshotFacts): Ref {
  return { name, namespace };
}

/** What is so already. */
function ignore(error: unknown, reason: "NotFound" | undefined): void {
  if (reason === undefined || !isReason(error, reason)) throw error;
}
