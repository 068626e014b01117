/** Clusters on this machine: through the controller that runs one, or from its directory where none runs. */
import path from "node:path";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import type { EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import type { SnapshotKind, SnapshotObject } from "../../local/snapshot-store.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { Explanation } from "../../core/status/why.ts";
import { InvalidInput, toResource } from "../../local/change.ts";
import { layout } from "../../local/layout.ts";
import { thisMachine } from "../../local/machine.ts";
import { Refused, type LocalReport } from "../../local/operations.ts";
import { ANNOTATIONS } from "../../operator/names.ts";
import { RemoteError } from "../../local/remote.ts";
import { Store, type StoredMember } from "../../local/store.ts";
import { commandOf } from "../called.ts";
import { CommandError, EXIT } from "../exit.ts";
import { UsageError, type CliIo } from "../io.ts";
import { clustersHome, DEFAULT_NAME, placeOf, type Place } from "../local/place.ts";
import { call } from "../local/session.ts";
import { withBackups } from "../screen/explain.ts";
import { checkUnchanged } from "./changed.ts";
import { noCluster, noSuch } from "./choose.ts";
import { eventsOf } from "./local-events.ts";
import { fileLogs } from "./local-logs.ts";
import type { TargetValues } from "./values.ts";
import type {
  Applied,
  ClusterEvent,
  ClusterObject,
  ClusterPatch,
  LogLine,
  LogWishes,
  OperationObject,
  PlannedChange,
  PlanOf,
  Target,
} from "./target.ts";

export function openLocal(values: TargetValues, io: CliIo): LocalTarget {
  return new LocalTarget(values, io);
}

export class LocalTarget implements Target {
  readonly kind = "local";
  readonly command: string;
  readonly where = "on this machine";
  readonly namespace = "local";
  readonly flags: string;
  readonly #values: TargetValues;
  readonly #io: CliIo;

  constructor(values: TargetValues, io: CliIo) {
    this.#values = values;
    this.#io = io;
    this.command = commandOf(io);
    const { dir, name } = values;
    const place = `${name === undefined ? "" : ` --name ${name}`}${dir === undefined ? "" : ` --dir ${dir}`}`;
    this.flags = place === "" ? " --local" : place;
  }

  async clusters(): Promise<readonly ClusterObject[]> {
    const places = await this.#places();
    return await Promise.all(places.map(async (place) => (await this.#report(place)).cluster));
  }

  async cluster(name: string): Promise<ClusterObject> {
    return (await this.#report(await this.placeOf(name))).cluster;
  }

  async members(cluster: ClusterObject): Promise<readonly EtcdMember[]> {
    const store = new Store((await this.placeOf(cluster.metadata.name)).layout, thisMachine(this.#io).seams);
    return (await store.members()).map((stored) => asMember(cluster, stored));
  }

  async events(cluster?: ClusterObject): Promise<readonly ClusterEvent[]> {
    const places = cluster ? [await this.placeOf(cluster.metadata.name)] : await this.#places();
    const reports = await Promise.all(places.map((place) => this.#report(place)));
    return reports.flatMap(eventsOf).toSorted((a, b) => a.at - b.at);
  }

  async remarks(cluster: ClusterObject): Promise<readonly string[]> {
    const place = await this.placeOf(cluster.metadata.name);
    const { controller } = await this.#report(place);
    return controller
      ? []
      : [
          `No controller is running for this cluster, so nothing changes. Start one with: ${this.command} local up${this.#place(place)}`,
        ];
  }

  async why(cluster: ClusterObject): Promise<Explanation> {
    const told = await this.#call(await this.placeOf(cluster.metadata.name), "why");
    return withBackups(told, cluster.status);
  }

  async plan(cluster: ClusterObject | undefined, change?: PlannedChange): Promise<PlanOf> {
    if (cluster === undefined)
      throw new CommandError(
        EXIT.notFound,
        `there is no such cluster yet. Start one with: ${this.command} local up`,
      );
    return await this.#call(await this.placeOf(cluster.metadata.name), "plan", change);
  }

  async *logs(cluster: ClusterObject, wishes: LogWishes, signal: AbortSignal): AsyncGenerator<LogLine> {
    const { layout: files } = await this.placeOf(cluster.metadata.name);
    const { disk, clock } = thisMachine(this.#io).seams;
    yield* fileLogs({ disk, clock, fileOf: (member) => files.logOf(member) }, wishes, signal);
  }

  /** The controller is this program. */
  async operatorVersion(): Promise<undefined> {
    return await Promise.resolve(undefined);
  }

  async operations(cluster?: ClusterObject): Promise<readonly OperationObject[]> {
    const places = cluster ? [await this.placeOf(cluster.metadata.name)] : await this.#places();
    const found = await Promise.all(places.map((place) => this.#call(place, "listOperations")));
    return found.flat();
  }

  async createOperation(operation: OperationObject): Promise<OperationObject> {
    return await this.#call(await this.placeOf(operation.spec.cluster), "createOperation", operation);
  }

  async deleteOperation({ metadata, spec }: OperationObject): Promise<void> {
    await this.#call(await this.placeOf(spec.cluster), "deleteOperation", metadata?.name);
  }

  async snapshot(name: string, cluster: ClusterObject): Promise<EtcdSnapshot | undefined> {
    const found = await this.#taken("EtcdSnapshot", name, cluster);
    return found?.kind === "EtcdSnapshot" ? found : undefined;
  }

  async schedule(name: string, cluster: ClusterObject): Promise<EtcdSnapshotSchedule | undefined> {
    const found = await this.#taken("EtcdSnapshotSchedule", name, cluster);
    return found?.kind === "EtcdSnapshotSchedule" ? found : undefined;
  }

  async #taken(
    kind: SnapshotKind,
    name: string,
    cluster: ClusterObject,
  ): Promise<SnapshotObject | undefined> {
    const place = await this.placeOf(cluster.metadata.name);
    const found = await this.#call(place, "listSnapshots", kind);
    return found.find(({ metadata }) => metadata.name === name);
  }

  async patchCluster(
    cluster: ClusterObject,
    { spec, annotations = {} }: ClusterPatch,
  ): Promise<ClusterObject> {
    const { name } = cluster.metadata;
    const place = await this.placeOf(name);
    const { [ANNOTATIONS.approve]: approved, ...others } = annotations;
    const [other] = Object.keys(others);
    if (other !== undefined) throw notHere(`the annotation ${other}`);
    if (typeof approved === "string") await this.#call(place, "approve", approved);
    if (spec) {
      const present = toResource(await this.#stored(place));
      await this.#call(place, "apply", { manifest: { ...present, spec: merged(present.spec, spec) } });
    }
    return await this.cluster(name);
  }

  async patchMember(
    member: EtcdMember,
    { annotations = {} }: Pick<ClusterPatch, "annotations">,
  ): Promise<EtcdMember> {
    const { [ANNOTATIONS.fence]: fence, ...others } = annotations;
    const [other] = Object.keys(others);
    if (other !== undefined) throw notHere(`the annotation ${other}`);
    const { name } = member.metadata;
    const cluster = await this.cluster(member.spec.cluster);
    if (fence !== undefined)
      await this.#call(await this.placeOf(member.spec.cluster), fence === null ? "unfence" : "fence", name);
    const after = (await this.members(cluster)).find(({ metadata }) => metadata.name === name);
    if (after === undefined) throw noSuch("member", name, [], `in cluster ${cluster.metadata.name}`);
    return after;
  }

  async deleteMember(member: EtcdMember): Promise<void> {
    await this.#call(await this.placeOf(member.spec.cluster), "replace", member.metadata.name);
  }

  async applyCluster(manifest: unknown, seen: ClusterObject | undefined): Promise<Applied> {
    const { name } = (manifest as { metadata?: { name?: string } }).metadata ?? {};
    // How the answer is printed is the caller's affair, and not of the verbs below `local`.
    const { name: called, dir } = this.#values;
    const place = placeOf({ name: called, dir }, this.#io, name);
    const before = await this.#stored(place);
    if (seen) checkUnchanged(toResource(before), seen);
    const done = await this.#call(place, "apply", { manifest });
    const { cluster } = await this.#report(place);
    const changed = cluster.metadata.generation !== before.generation;
    return { cluster, done: changed ? "configured" : "unchanged", warnings: done.warnings ?? [] };
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  /** Where the cluster of this name is, among those that the flags mean. */
  async placeOf(name: string): Promise<Place> {
    const places = await this.#places();
    const names = await Promise.all(places.map(async (place) => (await this.#stored(place)).name));
    const found = places[names.indexOf(name)];
    if (names.length === 0) throw noCluster(this);
    if (found === undefined) throw noSuch("cluster", name, names, this.where);
    return found;
  }

  /** The only one that the flags mean; its controller is not asked. */
  async onlyPlace(): Promise<Place> {
    const [only, ...others] = await this.#places();
    if (only === undefined) throw noCluster(this);
    if (others.length > 0)
      throw new UsageError("there are several clusters on this machine; choose one with --name or --dir");
    return only;
  }

  /** The flags with which `local up` finds the cluster. */
  #place({ name }: Place): string {
    const { dir } = this.#values;
    if (dir !== undefined) return ` --dir ${dir}`;
    return name === undefined || name === DEFAULT_NAME ? "" : ` --name ${name}`;
  }

  /** `--dir` and `--name` mean one cluster; otherwise all in the usual place. */
  async #places(): Promise<readonly Place[]> {
    const { dir, name } = this.#values;
    const { disk } = thisMachine(this.#io).seams;
    if (dir !== undefined || name !== undefined) {
      const place = placeOf({ dir, name }, this.#io);
      if ((await disk.stat(place.layout.cluster)) === undefined) throw noneIn(place.layout.dir, this.command);
      return [place];
    }
    const home = clustersHome(this.#io.env);
    const names = (await disk.list(home)).toSorted();
    const places = names.map((one) => ({ name: one, layout: layout(path.join(home, one)), json: false }));
    const present = await Promise.all(places.map((place) => disk.stat(place.layout.cluster)));
    return places.filter((_, index) => present[index] !== undefined);
  }

  async #stored(place: Place) {
    const stored = await new Store(place.layout, thisMachine(this.#io).seams).cluster();
    if (stored === undefined) throw noneIn(place.layout.dir, this.command);
    return stored;
  }

  async #report(place: Place): Promise<LocalReport> {
    return await this.#call(place, "status");
  }

  /** What a controller or its operations refuse is expected; anything else is a fault. */
  async #call<N extends Parameters<typeof call>[2]>(place: Place, operation: N, argument?: unknown) {
    try {
      return await call<N>(place, this.#io, operation, argument);
    } catch (error) {
      if (error instanceof Refused || error instanceof InvalidInput || error instanceof RemoteError)
        throw new CommandError(EXIT.failed, error.message, { cause: error });
      throw error;
    }
  }
}

function noneIn(dir: string, command: string): CommandError {
  return new CommandError(
    EXIT.notFound,
    `there is no cluster in ${dir}. Start one with: ${command} local up`,
  );
}

function notHere(what: string): CommandError {
  return new CommandError(EXIT.failed, `${what} cannot be used with a cluster on this machine yet`);
}

/** As a merge patch: `null` removes, objects are merged, anything else replaces. */
function merged(value: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else result[key] = merged(result[key], change);
  }
  return result;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asMember(cluster: ClusterObject, { record, deleting, fenced }: StoredMember): EtcdMember {
  const { name, uid, resourceVersion, createdAt, ...fields } = record;
  const creationTimestamp = new Date(createdAt).toISOString();
  return {
    apiVersion: API_VERSION,
    kind: "EtcdMember",
    metadata: {
      name,
      namespace: cluster.metadata.namespace,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(deleting && { deletionTimestamp: creationTimestamp }),
      ...(fenced && { annotations: { [ANNOTATIONS.fence]: "true" } }),
    },
    spec: { ...fields, cluster: cluster.metadata.name } as EtcdMember["spec"],
  };
}
