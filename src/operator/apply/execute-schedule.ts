/**
 * The effects of schedules of snapshots, and of restores that need one: their EtcdSnapshots are made once, and go with
 * their objects in the store.
 */
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { Conflict } from "../../control/platform.ts";
import type { WantedPoint } from "../../core/assess/restore-point.ts";
import type { SnapshotEffect } from "../../core/snapshots/effect.ts";
import type { ScheduleFacts } from "../../core/snapshots/facts.ts";
import { scheduledName } from "../../core/snapshots/schedule.ts";
import { specFor } from "../../core/snapshots/scheduled-spec.ts";
import { timestamp } from "../../core/status/condition.ts";
import { isReason } from "../../kube/errors.ts";
import { ANNOTATIONS, LABELS, SNAPSHOT_FINALIZER } from "../names.ts";
import { etcdSnapshots, etcdSnapshotSchedules } from "../resources.ts";
import type { SnapshotContext } from "./snapshot-context.ts";
import { findOne } from "./keep.ts";
import { mergePatch } from "./merge-patch.ts";

type ScheduleEffect = Extract<
  SnapshotEffect,
  { kind: "CreateSnapshot" | "CreateSnapshotBefore" | "CreatePoint" | "UpdateSchedule" | "PruneSnapshot" }
>;

export async function executeSchedule(context: SnapshotContext, effect: ScheduleEffect): Promise<void> {
  switch (effect.kind) {
    case "CreateSnapshot":
      return await create(
        context,
        snapshotFor(effect.schedule, context.namespace, effect.at, effect.base),
        LABELS.scheduleUID,
      );
    case "CreateSnapshotBefore":
      return await create(context, snapshotBefore(effect, context.namespace), LABELS.before);
    case "CreatePoint":
      return await create(context, pointFor(effect.point, context.namespace), LABELS.restores);
    case "UpdateSchedule": {
      const { schedule, status } = effect;
      const { uid, resourceVersion, name } = schedule;
      const object = context.stores.schedule(`${context.namespace}/${name}`);
      if (object?.metadata.resourceVersion !== resourceVersion)
        throw new Conflict(`EtcdSnapshotSchedule ${name} was changed or deleted`);
      const patch = mergePatch({ ...object.status }, { ...status });
      const ref = { name, namespace: context.namespace };
      if (patch)
        await context.client.patchStatus(etcdSnapshotSchedules, ref, patch, { uid, resourceVersion });
      return;
    }
    case "PruneSnapshot":
      return await prune(context, effect);
  }
}

/** Without an owner: deleting a schedule must not delete backups. */
function snapshotFor(schedule: ScheduleFacts, namespace: string, at: number, base = false): EtcdSnapshot {
  const { spec, uid } = schedule;
  return {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshot",
    metadata: {
      name: scheduledName(schedule, at, base),
      namespace,
      labels: { [LABELS.cluster]: spec.cluster, [LABELS.scheduleUID]: uid },
      annotations: { [ANNOTATIONS.scheduledAt]: timestamp(at) },
    },
    spec: specFor(schedule),
  };
}

/** Not of the schedule's own: its retention leaves it alone. */
function snapshotBefore(
  { schedule, name, minor }: Extract<ScheduleEffect, { kind: "CreateSnapshotBefore" }>,
  namespace: string,
): EtcdSnapshot {
  const { spec, ...rest } = snapshotFor(schedule, namespace, 0);
  const labels = { [LABELS.cluster]: spec.cluster, [LABELS.before]: minor };
  return { ...rest, metadata: { name, namespace, labels }, spec };
}

/** Owned, unlike all others: it was built for this restore alone, and can be built again. */
function pointFor({ name, owner, spec }: WantedPoint, namespace: string): EtcdSnapshot {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshot",
    metadata: {
      name,
      namespace,
      labels: { [LABELS.cluster]: spec.cluster, [LABELS.restores]: owner.uid },
      ownerReferences: [{ apiVersion: API_VERSION, ...owner }],
    },
    spec,
  };
}

/** `label`: which tells that one of the same name is the very one that was wanted. */
async function create(
  { client, namespace }: SnapshotContext,
  wanted: EtcdSnapshot,
  label: string,
): Promise<void> {
  const { name, labels } = wanted.metadata;
  try {
    await client.create(etcdSnapshots, wanted);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const found = await findOne(client, etcdSnapshots, { name, namespace });
    if (found && found.metadata.labels?.[label] !== labels?.[label])
      throw new Error(`EtcdSnapshot ${namespace}/${name} exists and was made for something else; delete it`, {
        cause: error,
      });
    // The cache was behind, and shows it from now on.
    if (found) client.found(etcdSnapshots, found);
  }
}

/** Asked of the API server itself: a cache that is behind must not cost the last good one. */
async function prune(
  { client, namespace }: SnapshotContext,
  { snapshot, keeping }: Extract<ScheduleEffect, { kind: "PruneSnapshot" }>,
): Promise<void> {
  if (keeping) {
    const found = await findOne(client, etcdSnapshots, { name: keeping.name, namespace });
    const isThere =
      found?.metadata.uid === keeping.uid &&
      found.metadata.deletionTimestamp === undefined &&
      found.status?.phase === "Succeeded";
    if (!isThere) throw new Conflict(`EtcdSnapshot ${keeping.name} is not there any more`);
  }
  const { name, uid, resourceVersion } = snapshot;
  const ref = { name, namespace };
  const found = await findOne(client, etcdSnapshots, ref);
  if (found?.metadata.uid !== uid) return;
  const others = found.metadata.finalizers?.filter((one) => one !== SNAPSHOT_FINALIZER) ?? [];
  if (!snapshot.held || snapshot.spec.deletionPolicy !== "Delete")
    await client.patch(
      etcdSnapshots,
      ref,
      { metadata: { finalizers: [...others, SNAPSHOT_FINALIZER] }, spec: { deletionPolicy: "Delete" } },
      { uid, resourceVersion },
    );
  await client.delete(etcdSnapshots, ref, { uid });
}
