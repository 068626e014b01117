/**
 * The objects of a local cluster as files: the cluster and one record per member. Every write is checked
 * against the version that was read, as an API server would do it (H10).
 */
import path from "node:path";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { FIRST_MARKS, type ClusterMarks, type MemberRecord } from "../core/record.ts";
import type { NewMemberRecord, RecordChange } from "../core/action.ts";
import { Conflict } from "../control/platform.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";

/** Raised when a file changes in a way that an older program would misread. */
const FORMAT = 1;

export interface StoredCluster {
  readonly format: typeof FORMAT;
  readonly name: string;
  readonly uid: string;
  readonly createdAt: number;
  readonly generation: number;
  readonly resourceVersion: number;
  readonly deleting: boolean;
  /** What a person approved. */
  readonly approved?: string;
  /** The first port of this cluster's block; chosen once (ports are part of a member's identity). */
  readonly basePort: number;
  readonly spec: EtcdClusterSpec;
  readonly marks: ClusterMarks;
}

export interface StoredMember {
  readonly format: typeof FORMAT;
  /** Somebody asked for this member to be replaced. */
  readonly deleting: boolean;
  /** A person fenced it; absent otherwise. */
  readonly fenced?: boolean;
  readonly record: MemberRecord;
}

/** A file of ours that cannot be understood: never guessed at, never overwritten. */
export class DamagedFile extends Error {
  override name = "DamagedFile";
  constructor(file: string, why: string, options?: ErrorOptions) {
    super(
      `${file} ${why}; it was left unchanged. Restore it from a backup, or move the directory away`,
      options,
    );
  }
}

export interface StoreSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
}

export class Store {
  readonly layout: Layout;
  readonly #disk: Disk;
  readonly #clock: Clock;
  readonly #random: Random;
  /** The last change that was asked for, failed or not. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(layout: Layout, { disk, clock, random }: StoreSeams) {
    this.layout = layout;
    this.#disk = disk;
    this.#clock = clock;
    this.#random = random;
  }

  async cluster(): Promise<StoredCluster | undefined> {
    return await this.#read<StoredCluster>(this.layout.cluster);
  }

  async createCluster(name: string, spec: EtcdClusterSpec, basePort: number): Promise<StoredCluster> {
    const cluster: StoredCluster = {
      format: FORMAT,
      name,
      uid: hex(this.#random, 8),
      createdAt: this.#clock.now(),
      generation: 1,
      resourceVersion: 1,
      deleting: false,
      basePort,
      spec,
      marks: FIRST_MARKS,
    };
    await this.#write(this.layout.cluster, cluster);
    return cluster;
  }

  /** Replaces parts of the cluster; a changed spec is a new generation. */
  async updateCluster(
    change: Partial<Pick<StoredCluster, "spec" | "marks" | "deleting" | "approved">>,
  ): Promise<StoredCluster> {
    return await this.#inTurn(async () => {
      const before = await this.cluster();
      if (before === undefined) throw new Conflict(`${this.layout.cluster} no longer exists`);
      const respecified =
        change.spec !== undefined && JSON.stringify(change.spec) !== JSON.stringify(before.spec);
      const after: StoredCluster = {
        ...before,
        ...change,
        generation: before.generation + (respecified ? 1 : 0),
        resourceVersion: before.resourceVersion + 1,
      };
      await this.#write(this.layout.cluster, after);
      return after;
    });
  }

  async removeCluster(): Promise<void> {
    await this.#inTurn(() => this.#disk.remove(this.layout.cluster));
  }

  /** By ascending ordinal. */
  async members(): Promise<readonly StoredMember[]> {
    const files = (await this.#disk.list(this.layout.members)).filter(isRecordFile);
    const members = await Promise.all(
      files.map((file) => this.#read<StoredMember>(path.join(this.layout.members, file))),
    );
    return members
      .filter((member) => member !== undefined)
      .toSorted((a, b) => a.record.ordinal - b.record.ordinal);
  }

  async createMember(record: NewMemberRecord): Promise<void> {
    const file = this.layout.member(record.name);
    const before = await this.#read<StoredMember>(file);
    // A repeated create of the same member is done already; of another one it is a clash.
    if (before !== undefined) {
      if (before.record.token === record.token && before.record.ordinal === record.ordinal) return;
      throw new Conflict(`${file} exists and belongs to an earlier cluster of this name`);
    }
    const stored: StoredMember = {
      format: FORMAT,
      deleting: false,
      record: { ...record, uid: hex(this.#random, 8), resourceVersion: "1", createdAt: this.#clock.now() },
    };
    await this.#write(file, stored);
  }

  async updateMember(name: string, resourceVersion: string, change: RecordChange): Promise<void> {
    const changed = (before: StoredMember) => ({ ...before, record: { ...before.record, ...change } });
    await this.#inTurn(() => this.#changeMember(name, resourceVersion, changed));
  }

  /** The member is to be replaced (I5): what deleting an EtcdMember means on Kubernetes. */
  async markDeleting(name: string): Promise<void> {
    const marked = (before: StoredMember) => ({ ...before, deleting: true });
    await this.#inTurn(() => this.#changeMember(name, undefined, marked));
  }

  /** Whether clients are kept away from it: what the annotation of an EtcdMember means on Kubernetes. */
  async markFenced(name: string, fenced: boolean): Promise<void> {
    const marked = (stored: StoredMember) => {
      const { fenced: _, ...before } = stored;
      return { ...before, ...(fenced && { fenced }) };
    };
    await this.#inTurn(() => this.#changeMember(name, undefined, marked));
  }

  async removeMember(name: string): Promise<void> {
    await this.#inTurn(() => this.#disk.remove(this.layout.member(name)));
  }

  /** A change reads before it writes: what a person asks for while the controller writes would be lost. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#lastChange.then(change);
    this.#lastChange = done.catch(() => undefined);
    return done;
  }

  async #changeMember(
    name: string,
    resourceVersion: string | undefined,
    change: (before: StoredMember) => StoredMember,
  ): Promise<void> {
    const file = this.layout.member(name);
    const before = await this.#read<StoredMember>(file);
    if (before === undefined) throw new Conflict(`${file} no longer exists`);
    const version = before.record.resourceVersion;
    if (resourceVersion !== undefined && version !== resourceVersion) {
      throw new Conflict(`${file} is at version ${version}, not ${resourceVersion}`);
    }
    const after = change(before);
    const record = { ...after.record, resourceVersion: String(Number(version) + 1) };
    await this.#write(file, { ...after, record });
  }

  async #read<T extends { format: number }>(file: string): Promise<T | undefined> {
    const text = await this.#disk.read(file);
    if (text === undefined) return undefined;
    let value: T;
    try {
      value = JSON.parse(text) as T;
    } catch (cause) {
      throw new DamagedFile(file, "is not JSON", { cause });
    }
    if (value?.format !== FORMAT) throw new DamagedFile(file, `does not have format ${FORMAT}`);
    return value;
  }

  async #write(file: string, value: object): Promise<void> {
    await this.#disk.makeDirectory(path.dirname(file));
    await this.#disk.write(file, `${JSON.stringify(value, undefined, 2)}\n`, { private: true });
  }
}

function isRecordFile(name: string): boolean {
  return name.endsWith(".json") && !name.startsWith(".");
}
