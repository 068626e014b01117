/** What people do with the EtcdSnapshots and schedules of a local cluster: apply, list and delete them. The loop takes them. */
import { etcdSnapshotScheduleSchema, type EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import { etcdSnapshotSchema, type EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { resourceParser } from "../api/parse-resource.ts";
import { fieldError, InvalidInput } from "./change.ts";
import type { Done, Subject } from "./verb.ts";
import { isResourceName, kindAmong, noneNamed, requireNotDeleted, requireOurs } from "./resource-verbs.ts";
import type { SnapshotKind, SnapshotObject, SnapshotStore } from "./snapshot-store.ts";

const PARSERS = {
  EtcdSnapshot: resourceParser("EtcdSnapshot", etcdSnapshotSchema),
  EtcdSnapshotSchedule: resourceParser("EtcdSnapshotSchedule", etcdSnapshotScheduleSchema),
} as const;

const VERIFY = "etcd.quorate.dev/verify";

export const snapshotVerbs = {
  async applySnapshot(subject: Subject, manifest: unknown): Promise<Done> {
    const kind = kindAmong(manifest, ["EtcdSnapshot", "EtcdSnapshotSchedule"]);
    const { name, annotations } =
      (manifest as { metadata?: { name?: unknown; annotations?: Readonly<Record<string, unknown>> } })
        .metadata ?? {};
    const store = storeOf(subject, kind);
    const stored = isResourceName(name) ? await store.get(name) : undefined;
    const old = stored && store.toObject(stored);
    const parsed = PARSERS[kind](manifest, old as never);
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const { metadata, spec } = parsed.value as SnapshotObject;
    await requireOurs(subject, { metadata, spec });
    if (spec.destination.pvc)
      throw fieldError(
        "spec.destination.pvc",
        "one machine has no PersistentVolumeClaims: use file, s3, gcs or azure",
      );
    requireNotDeleted(old);
    const request = annotations?.[VERIFY];
    const marks = typeof request === "string" && kind === "EtcdSnapshot" ? { verifyRequest: request } : {};
    const done = await store.apply(metadata.name, spec, marks);
    subject.wake();
    const warnings = notApplicable(spec);
    return { text: `${kind} ${metadata.name} ${done}`, ...(warnings.length > 0 && { warnings }) };
  },

  async listSnapshots(subject: Subject, kind: SnapshotKind): Promise<readonly SnapshotObject[]> {
    const store = storeOf(subject, kind);
    return (await store.list()).stored.map((one) => store.toObject(one));
  },

  async deleteSnapshot(
    subject: Subject,
    { kind, name }: { readonly kind: SnapshotKind; readonly name: string },
  ): Promise<Done> {
    const store = storeOf(subject, kind);
    if (!isResourceName(name) || !(await store.delete(name))) {
      const { stored } = await store.list();
      throw noneNamed(
        kind,
        name,
        stored.map((one) => one.name),
      );
    }
    subject.wake();
    const isThere = (await store.get(name)) !== undefined;
    return { text: `${kind} ${name} ${isThere ? "is deleted once its object in the store is" : "deleted"}` };
  },
};

/** Named in one warning: they mean nothing here, and nothing happens to data because of it. */
function notApplicable({ destination, serviceAccountName }: SnapshotObject["spec"]): string[] {
  const place = destination.s3 ?? destination.gcs ?? destination.azure;
  const fields = [
    ...(serviceAccountName === undefined ? [] : ["spec.serviceAccountName"]),
    ...(place?.credentialsSecret === undefined ? [] : ["credentialsSecret of spec.destination"]),
    ...(place?.caSecret === undefined ? [] : ["caSecret of spec.destination"]),
  ];
  if (fields.length === 0) return [];
  return [
    `${fields.join(", ")}: only used on Kubernetes; on one machine the store is reached with the environment of the controller`,
  ];
}

function storeOf({ platform: { snapshots } }: Subject, kind: SnapshotKind): SnapshotStore<SnapshotObject> {
  const store: SnapshotStore<EtcdSnapshot> | SnapshotStore<EtcdSnapshotSchedule> =
    kind === "EtcdSnapshot" ? snapshots.snapshots : snapshots.schedules;
  // Which of the two it is was decided together with the parser.
  return store as unknown as SnapshotStore<SnapshotObject>;
}
