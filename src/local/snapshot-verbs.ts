/** What people do with the EtcdSnapshots and schedules of a local cluster: apply, list and delete them. The loop takes them. */
import { etcdSnapshotScheduleSchema, type EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import { etcdSnapshotSchema, type EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { resourceParser } from "../api/parse-resource.ts";
import { fieldError, InvalidInput } from "./change.ts";
import type { Done, Subject } from "./operations.ts";
import { Refused } from "./refused.ts";
import type { SnapshotKind, SnapshotObject, SnapshotStore } from "./snapshot-store.ts";

const PARSERS = {
  EtcdSnapshot: resourceParser("EtcdSnapshot", etcdSnapshotSchema),
  EtcdSnapshotSchedule: resourceParser("EtcdSnapshotSchedule", etcdSnapshotScheduleSchema),
} as const;

/** What the API server accepts as a name, and what is safe as a file. */
const NAME = /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/;
const VERIFY = "etcd.quorate.dev/verify";

export const snapshotVerbs = {
  async applySnapshot(subject: Subject, manifest: unknown): Promise<Done> {
    const kind = kindOf(manifest);
    const { platform, layout } = subject;
    const { name, annotations } =
      (manifest as { metadata?: { name?: unknown; annotations?: Readonly<Record<string, unknown>> } })
        .metadata ?? {};
    const store = storeOf(subject, kind);
    const stored = typeof name === "string" && NAME.test(name) ? await store.get(name) : undefined;
    const old = stored && store.toObject(stored);
    const parsed = PARSERS[kind](manifest, old as never);
    if (!parsed.ok) throw new InvalidInput(parsed.errors);
    const { metadata, spec } = parsed.value as SnapshotObject;
    if (!NAME.test(metadata.name))
      throw fieldError(
        "metadata.name",
        "use at most 63 lower-case letters, digits, dots and dashes, starting and ending with a letter or digit",
      );
    const cluster = await platform.store.cluster();
    if (!cluster) throw new Refused(`there is no cluster in ${layout.dir}`);
    if (spec.cluster !== cluster.name)
      throw fieldError(
        "spec.cluster",
        `the directory belongs to the cluster ${JSON.stringify(cluster.name)}, not ${JSON.stringify(spec.cluster)}`,
      );
    if (spec.destination.pvc)
      throw fieldError(
        "spec.destination.pvc",
        "one machine has no PersistentVolumeClaims: use file, s3, gcs or azure",
      );
    if (stored?.deletedAt !== undefined)
      throw new Refused(`${kind} ${metadata.name} is being deleted; apply it again once it is gone`);
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
    if (!NAME.test(name) || !(await store.delete(name))) {
      const names = (await store.list()).stored.map((one) => one.name);
      throw new Refused(
        `no ${kind} is named ${JSON.stringify(name)}; there are ${names.join(", ") || "none"}`,
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

function kindOf(manifest: unknown): SnapshotKind {
  const { kind } = (manifest ?? {}) as { kind?: unknown };
  if (kind === "EtcdSnapshot" || kind === "EtcdSnapshotSchedule") return kind;
  throw fieldError("kind", `must be EtcdSnapshot or EtcdSnapshotSchedule, not ${JSON.stringify(kind)}`);
}

function storeOf({ platform: { snapshots } }: Subject, kind: SnapshotKind): SnapshotStore<SnapshotObject> {
  const store: SnapshotStore<EtcdSnapshot> | SnapshotStore<EtcdSnapshotSchedule> =
    kind === "EtcdSnapshot" ? snapshots.snapshots : snapshots.schedules;
  // Which of the two it is was decided together with the parser.
  return store as unknown as SnapshotStore<SnapshotObject>;
}
