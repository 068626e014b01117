/** A target for tests of verbs: clusters in memory, and a script of what the operator makes of changes. */
import { Readable } from "node:stream";
import { etcdClusterSpecSchema, type EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { EtcdSnapshot } from "../../api/etcd-snapshot.ts";
import type { EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import { API_VERSION } from "../../api/metadata.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { status } from "../../core/testing/status.ts";
import type { Clock } from "../../seams/clock.ts";
import { dispatch } from "../dispatch.ts";
import { CommandError, EXIT } from "../exit.ts";
import type { CliIo } from "../io.ts";
import { checkUnchanged } from "../target/changed.ts";
import { noSuch } from "../target/choose.ts";
import type { ClusterObject, ClusterPatch, OperationObject, Target } from "../target/target.ts";
import { verbs } from "../verbs.ts";

const GENERATED = "2026-01-01T00:00:00Z";

/** A healthy cluster `demo`, as the operator reports it. */
export function demo(input: Partial<EtcdClusterSpecInput> = {}): ClusterObject {
  const world = healthy(input);
  return {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: {
      name: "demo",
      namespace: "prod",
      uid: "u-1",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: GENERATED,
    },
    spec: etcdClusterSpecSchema.parse({ version: "3.6.16", ...input }),
    status: status(world),
  };
}

/** What the verbs that change something need of a target. */
export class FakeTarget implements Partial<Target> {
  readonly kind: Target["kind"];
  readonly command = "kubectl etcd";
  readonly where = "in namespace prod";
  readonly namespace = "prod";
  readonly flags = " -n prod";
  readonly writes: string[] = [];
  readonly created: OperationObject[] = [];
  /** By name, with what a test needs of them. */
  readonly snapshots = new Map<string, object>();
  readonly schedules = new Map<string, object>();
  objects: ClusterObject[];
  records: EtcdMember[];
  /** How many writes meet a newer object first. */
  conflicts = 0;
  /** What another writer did then. */
  meanwhile: (target: FakeTarget) => void = () => undefined;
  /** What the operator does between two looks: called before each read of a cluster. */
  operator: (target: FakeTarget) => void = (target) => target.settle();
  /** What becomes of an operation, look by look. */
  script: NonNullable<OperationObject["status"]>[] = [
    { phase: "Succeeded", reason: "Completed", message: "done" },
  ];

  constructor(objects: ClusterObject[] = [demo()], kind: Target["kind"] = "kubernetes") {
    this.kind = kind;
    this.objects = objects;
    this.records = objects.flatMap(({ metadata, spec }) =>
      Array.from({ length: Math.max(3, spec.replicas) }, (_, index) => recordOf(metadata.name, index + 1)),
    );
  }

  snapshot(name: string): Promise<EtcdSnapshot | undefined> {
    return Promise.resolve(this.snapshots.get(name) as EtcdSnapshot | undefined);
  }

  schedule(name: string): Promise<EtcdSnapshotSchedule | undefined> {
    return Promise.resolve(this.schedules.get(name) as EtcdSnapshotSchedule | undefined);
  }

  /** Every cluster becomes as its spec says, and says so. */
  settle(change: Partial<NonNullable<ClusterObject["status"]>> = {}): void {
    this.objects = this.objects.map((object) => {
      const world = healthy({ ...object.spec, replicas: Math.max(1, object.spec.replicas), paused: false });
      const next = status(world);
      const { generation = 0 } = object.metadata;
      const conditions = next.conditions?.map((one) => ({ ...one, observedGeneration: generation }));
      const asleep = object.spec.replicas === 0 && { phase: "Hibernated" as const };
      return {
        ...object,
        status: { ...next, conditions, observedGeneration: generation, ...asleep, ...change },
      };
    });
  }

  async clusters(): Promise<readonly ClusterObject[]> {
    return await Promise.resolve(this.objects);
  }

  async cluster(name: string): Promise<ClusterObject> {
    this.operator(this);
    const found = this.objects.find(({ metadata }) => metadata.name === name);
    const names = this.objects.map(({ metadata }) => metadata.name);
    if (!found) throw noSuch("cluster", name, names, this.where);
    return await Promise.resolve(found);
  }

  async members(cluster: ClusterObject): Promise<readonly EtcdMember[]> {
    return await Promise.resolve(this.records.filter(({ spec }) => spec.cluster === cluster.metadata.name));
  }

  async events(): Promise<[]> {
    return await Promise.resolve([]);
  }

  async operations(): Promise<readonly OperationObject[]> {
    const now = this.script.length > 1 ? this.script.shift() : this.script[0];
    const found = this.created.map((operation) => ({ ...operation, ...(now && { status: now }) }));
    return await Promise.resolve(found);
  }

  async createOperation(operation: OperationObject): Promise<OperationObject> {
    this.created.push(operation);
    this.writes.push(`create ${JSON.stringify(operation.spec)}`);
    return await Promise.resolve(operation);
  }

  async deleteOperation({ metadata }: OperationObject): Promise<void> {
    this.writes.push(`delete ${metadata?.name}`);
    await Promise.resolve();
  }

  async patchCluster(cluster: ClusterObject, { spec, annotations }: ClusterPatch): Promise<ClusterObject> {
    this.#contest();
    this.writes.push(
      `patch ${JSON.stringify({ ...(spec && { spec }), ...(annotations && { annotations }) })}`,
    );
    const { generation = 0 } = cluster.metadata;
    const after = {
      ...cluster,
      metadata: { ...cluster.metadata, generation: generation + (spec ? 1 : 0) },
      spec: { ...cluster.spec, ...spec },
    };
    this.objects = this.objects.map((one) => (one.metadata.name === cluster.metadata.name ? after : one));
    return await Promise.resolve(after);
  }

  async patchMember(
    member: EtcdMember,
    { annotations }: Pick<ClusterPatch, "annotations">,
  ): Promise<EtcdMember> {
    this.#contest();
    this.writes.push(`annotate ${member.metadata.name} ${JSON.stringify(annotations)}`);
    return await Promise.resolve(member);
  }

  async deleteMember(member: EtcdMember): Promise<void> {
    this.writes.push(`delete ${member.metadata.name}`);
    await Promise.resolve();
  }

  async applyCluster(manifest: unknown, seen: ClusterObject | undefined): ReturnType<Target["applyCluster"]> {
    const given = manifest as ClusterObject;
    this.#contest();
    checkUnchanged(this.objects[0], seen);
    this.writes.push(`apply ${given.metadata.name}`);
    const [present] = this.objects;
    const cluster = { ...demo(), ...present, spec: { ...demo().spec, ...given.spec } };
    this.objects = [cluster];
    return await Promise.resolve({ cluster, done: "configured", warnings: ["plaintext clients"] });
  }

  async close(): Promise<void> {
    await Promise.resolve();
  }

  #contest(): void {
    if (this.conflicts-- <= 0) return;
    this.meanwhile(this);
    throw new CommandError(EXIT.conflict, "the object changed in the meantime");
  }
}

function recordOf(cluster: string, ordinal: number): EtcdMember {
  const name = `${cluster}-${ordinal}`;
  return {
    apiVersion: API_VERSION,
    kind: "EtcdMember",
    metadata: { name, namespace: "prod", uid: `m-${name}`, resourceVersion: "1" },
    spec: { cluster, ordinal, role: "Voter", template: { version: "3.6.16" } },
  } as unknown as EtcdMember;
}

/** Time passes only while somebody waits. */
export class QuickClock implements Clock {
  #now = Date.parse(GENERATED);
  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#now;
  }
  timer(ms: number, fire: () => void): { cancel(): void } {
    let isCancelled = false;
    queueMicrotask(() => {
      if (isCancelled) return;
      this.#now += ms;
      fire();
    });
    return { cancel: () => (isCancelled = true) };
  }
}

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line on this target. `input`: what the user types on a terminal; none means no terminal. */
export async function command(target: FakeTarget, line: string, input?: string): Promise<Said> {
  const [out, err]: [string[], string[]] = [[], []];
  const stdin = Object.assign(Readable.from(input === undefined ? [] : [`${input}\n`]), {
    isTTY: input !== undefined,
  });
  const io: CliIo = {
    stdin,
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    env: { NO_COLOR: "1" },
    cwd: ".",
    isTTY: input !== undefined,
    signal: new AbortController().signal,
    clock: new QuickClock(),
    random: { bytes: (length) => new Uint8Array(length).fill(0xab) },
    command: "kubectl etcd",
    target: target as unknown as Target,
  };
  const code = await dispatch(line.split(" "), verbs, "1.2.3", io);
  return { code, out: out.join(""), err: err.join("") };
}
