/**
 * EtcdSnapshots and schedules on one machine: their files as the facts that core decides on, and its effects carried out.
 * The same decisions as on Kubernetes; a process of this program does what a Job does there.
 */
import path from "node:path";
import type { EtcdSnapshotSchedule, EtcdSnapshotScheduleSpec } from "../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot, EtcdSnapshotSpec } from "../api/etcd-snapshot.ts";
import { CHANGES_INTERVAL } from "../api/intervals.ts";
import { Conflict } from "../control/platform.ts";
import type { Problem } from "../control/problem.ts";
import type { WantedPoint } from "../core/assess/restore-point.ts";
import type { SnapshotEffect } from "../core/snapshots/effect.ts";
import type { ScheduleFacts, SnapshotFacts, SnapshotState } from "../core/snapshots/facts.ts";
import { lifeFlags } from "../core/snapshots/life.ts";
import { followerName, jobName, objectID } from "../core/snapshots/names.ts";
import { scheduledName } from "../core/snapshots/schedule.ts";
import { specFor } from "../core/snapshots/scheduled-spec.ts";
import { folderURI, sourceAt, storeFlags } from "../snapshot/place.ts";
import type { Processes } from "../seams/processes.ts";
import { problemOfFile } from "./resource-files.ts";
import { LocalFollowers } from "./followers.ts";
import type { Layout } from "./layout.ts";
import { SnapshotJobs, type Program } from "./snapshot-jobs.ts";
import { SnapshotStore, type StoredSnapshot } from "./snapshot-store.ts";
import type { StoreSeams } from "./store.ts";

interface SnapshotSeams extends StoreSeams {
  readonly processes: Processes;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent: nothing is taken, only stored. */
  readonly program?: Program;
}

/** Files that a process dials etcd with; undefined where members serve plaintext. */
export type EtcdFiles = { readonly ca: string; readonly cert: string; readonly key: string } | undefined;

const DEADLINE_SECONDS = 21_600;
const NO_CLAIMS =
  "spec.destination.pvc names a PersistentVolumeClaim, which one machine does not have: use file, s3, gcs or azure";
/** Of the person who started the controller, and not for this cluster. */
const NOT_INHERITED = /^(ETCDCTL_|QUORATE_SNAPSHOT_KEY$)/;

export class LocalSnapshots {
  readonly snapshots: SnapshotStore<EtcdSnapshot>;
  readonly schedules: SnapshotStore<EtcdSnapshotSchedule>;
  readonly #layout: Layout;
  readonly #jobs: SnapshotJobs | undefined;
  readonly #followers: LocalFollowers | undefined;
  damaged: readonly Problem[] = [];
  #files: EtcdFiles;

  constructor(layout: Layout, seams: SnapshotSeams, onEvent: () => void) {
    this.#layout = layout;
    const { snapshots, schedules } = layout;
    this.snapshots = new SnapshotStore<EtcdSnapshot>(
      "EtcdSnapshot",
      { directory: snapshots, file: (name) => layout.snapshot(name) },
      seams,
    );
    this.schedules = new SnapshotStore<EtcdSnapshotSchedule>(
      "EtcdSnapshotSchedule",
      { directory: schedules, file: (name) => layout.schedule(name) },
      seams,
    );
    const env = Object.fromEntries(Object.entries(seams.env).filter(([name]) => !NOT_INHERITED.test(name)));
    const { program } = seams;
    this.#jobs = program && new SnapshotJobs(layout.snapshotJobs, { ...seams, env }, program, onEvent);
    this.#followers = program && new LocalFollowers(layout.snapshotJobs, { ...seams, env }, program, onEvent);
  }

  /** Undefined where there are none, or nobody takes any. */
  async read(cluster: string, files: EtcdFiles): Promise<SnapshotState | undefined> {
    const [snapshots, schedules] = await Promise.all([this.snapshots.list(), this.schedules.list()]);
    this.damaged = [...snapshots.damaged, ...schedules.damaged].map(problemOfFile);
    this.#files = files;
    const jobs = this.#jobs;
    // Whose file cannot be read is not gone.
    if (snapshots.damaged.length === 0) jobs?.keepOnly(new Set(snapshots.stored.map(({ uid }) => uid)));
    if (schedules.damaged.length === 0)
      this.#followers?.keepOnly(new Set(schedules.stored.map(({ uid }) => uid)));
    await Promise.all([this.#followers?.read(), this.#jobs?.read()]);
    const found = snapshots.stored.length + schedules.stored.length + schedules.damaged.length;
    if (jobs === undefined || found === 0) return undefined;
    const own = <T extends { readonly spec: { readonly cluster: string } }>(stored: readonly T[]) =>
      stored.filter(({ spec }) => spec.cluster === cluster);
    const planned = own(schedules.stored).map((one) => scheduleFacts(one, this.#followers));
    return {
      by: "process",
      snapshots: own(snapshots.stored).map((one) => snapshotFacts(one, jobs)),
      ...(planned.length > 0 && { schedules: planned }),
      ...(schedules.damaged.length > 0 && { unreadable: schedules.damaged }),
      followsWith: JSON.stringify(files ?? {}),
    };
  }

  async execute(effect: SnapshotEffect): Promise<void> {
    switch (effect.kind) {
      case "UpdateSnapshot":
        return await this.snapshots.change(effect.snapshot, { status: effect.status });
      case "UpdateSchedule":
        return await this.schedules.change(effect.schedule, { status: effect.status });
      case "StartJob":
        return this.#start(effect);
      case "DeleteJob":
        return this.#jobs?.remove(effect.job);
      case "HoldSnapshot":
        return await this.snapshots.change(effect.snapshot, { held: true });
      case "ReleaseSnapshot":
        return await this.snapshots.change(effect.snapshot, { held: false });
      case "RequestVerification":
        return await this.snapshots.change(effect.snapshot, { verifyRequest: effect.request });
      case "CreateSnapshot": {
        const { schedule, at, base } = effect;
        return await this.#create(schedule, scheduledName(schedule, at, base), { schedule: schedule.uid });
      }
      case "CreateSnapshotBefore":
        return await this.#create(effect.schedule, effect.name, { before: effect.minor });
      case "CreatePoint":
        return await this.#createPoint(effect.point);
      case "ForgetSnapshot":
        await this.snapshots.delete(effect.snapshot.name, effect.snapshot.uid);
        return;
      case "PruneSnapshot":
        return await this.#prune(effect);
      case "StartFollower":
        return this.#follow(effect);
      case "StopFollower":
        return this.#followers?.stop(effect.follower);
    }
  }

  async #create(
    schedule: ScheduleFacts,
    name: string,
    marks: { readonly schedule?: string; readonly before?: string },
  ): Promise<void> {
    const found = await this.snapshots.create(name, specFor(schedule), marks);
    if (found.schedule !== marks.schedule || found.before !== marks.before)
      throw new Error(`EtcdSnapshot ${name} exists and was made for something else; delete it`);
  }

  async #createPoint({ name, spec, owner }: WantedPoint): Promise<void> {
    const found = await this.snapshots.create(name, spec, { restores: owner.uid });
    if (found.restores !== owner.uid)
      throw new Error(`EtcdSnapshot ${name} exists and was made for something else; delete it`);
  }

  /** The good one that stays has to be there still. */
  async #prune({ snapshot, keeping }: Extract<SnapshotEffect, { kind: "PruneSnapshot" }>): Promise<void> {
    if (keeping) {
      const found = await this.snapshots.get(keeping.name);
      const isThere =
        found?.uid === keeping.uid && found.deletedAt === undefined && found.status.phase === "Succeeded";
      if (!isThere) throw new Conflict(`EtcdSnapshot ${keeping.name} is not there any more`);
    }
    if (!snapshot.held || snapshot.spec.deletionPolicy !== "Delete")
      await this.snapshots.change(snapshot, {
        held: true,
        spec: { ...snapshot.spec, deletionPolicy: "Delete" },
      });
    await this.snapshots.delete(snapshot.name, snapshot.uid);
  }

  #start(effect: Extract<SnapshotEffect, { kind: "StartJob" }>): void {
    const { snapshot, task, attempt } = effect;
    const { spec, uid } = snapshot;
    const name = jobName(snapshot, task, attempt);
    this.#jobs?.start({
      name,
      uid,
      task,
      attempt,
      ...(task === "delete" && { after: jobName(snapshot, "save", 1) }),
      args: ["snapshot", ...this.#command(effect, name)],
      deadlineSeconds: spec.activeDeadlineSeconds ?? DEADLINE_SECONDS,
      folder: folderURI(spec.destination),
    });
  }

  #follow({
    schedule,
    attempt,
    recipe,
    endpoints,
  }: Extract<SnapshotEffect, { kind: "StartFollower" }>): void {
    const { spec, uid } = schedule;
    this.#followers?.start({
      name: followerName(schedule, attempt),
      schedule: uid,
      attempt,
      recipe,
      args: [
        "snapshot",
        "follow",
        "--await-base",
        "--interval",
        spec.incremental?.interval ?? CHANGES_INTERVAL,
        ...this.#encoding(spec),
        ...this.#etcd(endpoints),
        ...this.#key(spec),
        ...storeFlags(spec.destination),
        folderURI(spec.destination),
      ],
    });
  }

  #encoding({ compression, encryption }: EtcdSnapshotSpec | EtcdSnapshotScheduleSpec): string[] {
    return [...(compression === "Zstd" ? ["--compress"] : []), ...(encryption ? ["--encrypt"] : [])];
  }

  #etcd(endpoints: readonly string[]): string[] {
    const { ca, cert, key } = this.#files ?? {};
    return [
      "--endpoints",
      endpoints.join(","),
      ...(ca && cert && key ? ["--cacert", ca, "--cert", cert, "--key", key] : []),
    ];
  }

  #key({ encryption }: EtcdSnapshotSpec | EtcdSnapshotScheduleSpec): string[] {
    return encryption ? ["--encryption-key-file", this.#layout.encryptionKey(encryption.keySecret)] : [];
  }

  #command(
    { snapshot, task, endpoints, life, hashKv, etcdVersion }: Extract<SnapshotEffect, { kind: "StartJob" }>,
    name: string,
  ): string[] {
    const { spec, status } = snapshot;
    const { destination } = spec;
    const store = storeFlags(destination);
    const id = ["--id", objectID(snapshot)];
    const key = this.#key(spec);
    switch (task) {
      case "save":
        if (spec.pointInTime !== undefined) return this.#build(snapshot, etcdVersion);
        return [
          "save",
          ...(hashKv ? ["--hash-kv"] : []),
          ...lifeFlags(life),
          ...this.#encoding(spec),
          ...id,
          ...this.#etcd(endpoints),
          ...key,
          ...store,
          folderURI(destination),
        ];
      case "delete":
        return ["delete", ...id, ...store, folderURI(destination)];
      case "verify":
        return [
          "verify-here",
          "--scratch-dir",
          path.join(this.#layout.snapshotJobs, `${name}.scratch`),
          "--etcd-version",
          status.etcdVersion ?? "",
          ...(status.sha256 === undefined ? [] : ["--sha256", status.sha256]),
          ...key,
          ...store,
          status.uri ?? "",
        ];
    }
  }

  #build(snapshot: SnapshotFacts, version: string | undefined): string[] {
    const { spec } = snapshot;
    const { revision, time, clusterID } = spec.pointInTime ?? {};
    const folder = folderURI(spec.destination);
    return [
      "build",
      "--id",
      objectID(snapshot),
      ...(revision === undefined ? [] : ["--at-revision", String(revision)]),
      ...(time === undefined ? [] : ["--at-time", time]),
      ...(clusterID === undefined ? [] : ["--cluster-id", clusterID]),
      ...(spec.pointInTime?.etcdVersion === undefined || version === undefined
        ? []
        : ["--etcd-version", version]),
      "--scratch-dir",
      this.#layout.snapshotJobs,
      ...this.#encoding(spec),
      ...this.#key(spec),
      ...storeFlags(spec.destination),
      folder,
      folder,
    ];
  }

  async close(): Promise<void> {
    await Promise.all([this.#jobs?.close(), this.#followers?.close()]);
  }
}

function scheduleFacts(
  stored: StoredSnapshot<EtcdSnapshotSchedule>,
  followers: LocalFollowers | undefined,
): ScheduleFacts {
  const found = followers?.factsOf(stored.uid) ?? [];
  return {
    ...shared(stored),
    ...(stored.spec.destination.pvc && { invalid: NO_CLAIMS }),
    ...(found.length > 0 && { followers: found }),
  };
}

function snapshotFacts(stored: StoredSnapshot<EtcdSnapshot>, jobs: SnapshotJobs): SnapshotFacts {
  const { schedule, before, restores, verifyRequest, held = false, spec, uid, status } = stored;
  const source = status.uri === undefined ? undefined : sourceAt(spec.destination, status.uri);
  return {
    ...shared(stored),
    held,
    ...(schedule !== undefined && { schedule }),
    ...(before !== undefined && { before }),
    ...(restores !== undefined && { restores }),
    ...(source && { source }),
    ...(verifyRequest !== undefined && { verifyRequest }),
    jobs: jobs.factsOf(uid),
    ...(spec.destination.pvc && { unsupported: NO_CLAIMS }),
  };
}

function shared<T extends EtcdSnapshot | EtcdSnapshotSchedule>(stored: StoredSnapshot<T>) {
  const { name, uid, resourceVersion, generation, createdAt, deletedAt, status } = stored;
  return {
    name,
    uid,
    resourceVersion: String(resourceVersion),
    generation,
    createdAt,
    deleting: deletedAt !== undefined,
    spec: stored.spec as T["spec"],
    status: status as NonNullable<T["status"]>,
  };
}
