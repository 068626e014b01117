/**
 * The objects of a local cluster as files: the cluster and one record per member. Every write is checked
 * against the version that was read, as an API server would do it (H10).
 */
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { FIRST_MARKS, type ClusterMarks, type MemberRecord } from "../core/record.ts";
import type { NewMemberRecord, RecordChange } from "../core/action.ts";
import { Conflict } from "../control/platform.ts";
import type { Clock } from "../seams/clock.ts";
import type { Disk } from "../seams/disk.ts";
import { hex, type Random } from "../seams/random.ts";
import type { Layout } from "./layout.ts";
import { FORMAT, StoredFiles } from "./stored-files.ts";

export { DamagedFile } from "./stored-files.ts";

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

export interface StoreSeams {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
}

export class Store {
  readonly layout: Layout;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #files: StoredFiles;

  constructor(layout: Layout, { disk, clock, random }: StoreSeams) {
    this.layout = layout;
    this.#files = new StoredFiles(disk);
    this.#clock = clock;
    this.#random = random;
  }

  async cluster(): Promise<StoredCluster | undefined> {
    return await this.#files.read<StoredCluster>(this.layout.cluster);
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
    await this.#files.write(this.layout.cluster, cluster);
    return cluster;
  }

  /** Replaces parts of the cluster; a changed spec is a new generation. */
  async updateCluster(
    change: Partial<Pick<StoredCluster, "spec" | "marks" | "deleting" | "approved">>,
  ): Promise<StoredCluster> {
    return await this.#files.inTurn(async () => {
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
      await this.#files.write(this.layout.cluster, after);
      return after;
    });
  }

  async removeCluster(): Promise<void> {
    await this.#files.inTurn(() => this.#files.remove(this.layout.cluster));
  }

  /** By ascending ordinal. */
  async members(): Promise<readonly StoredMember[]> {
    const files = await this.#files.list(this.layout.members);
    const members = await Promise.all(files.map((file) => this.#files.read<StoredMember>(file)));
    return members
      .filter((member) => member !== undefined)
      .toSorted((a, b) => a.record.ordinal - b.record.ordinal);
  }

  async createMember(record: NewMemberRecord): Promise<void> {
    const file = this.layout.member(record.name);
    const before = await this.#files.read<StoredMember>(file);
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
    await this.#files.write(file, stored);
  }

  async updateMember(name: string, resourceVersion: string, change: RecordChange): Promise<void> {
    const changed = (before: StoredMember) => ({ ...before, record: { ...before.record, ...change } });
    await this.#files.inTurn(() => this.#changeMember(name, resourceVersion, changed));
  }

  /** The member is to be replaced (I5): what deleting an EtcdMember means on Kubernetes. */
  async markDeleting(name: string): Promise<void> {
    const marked = (before: StoredMember) => ({ ...before, deleting: true });
    await this.#files.inTurn(() => this.#changeMember(name, undefined, marked));
  }

  /** Whether clients are kept away from it: what the annotation of an EtcdMember means on Kubernetes. */
  async markFenced(name: string, fenced: boolean): Promise<void> {
    const marked = (stored: StoredMember) => {
      const { fenced: _, ...before } = stored;
      return { ...before, ...(fenced && { fenced }) };
    };
    await this.#files.inTurn(() => this.#changeMember(name, undefined, marked));
  }

  async removeMember(name: string): Promise<void> {
    await this.#files.inTurn(() => this.#files.remove(this.layout.member(name)));
  }

  async #changeMember(
    name: string,
    resourceVersion: string | undefined,
    change: (before: StoredMember) => StoredMember,
  ): Promise<void> {
    const file = this.layout.member(name);
    const before = await this.#files.read<StoredMember>(file);
    if (before === undefined) throw new Conflict(`${file} no longer exists`);
    const version = before.record.resourceVersion;
    if (resourceVersion !== undefined && version !== resourceVersion) {
      throw new Conflict(`${file} is at version ${version}, not ${resourceVersion}`);
    }
    const after = change(before);
    const record = { ...after.record, resourceVersion: String(Number(version) + 1) };
    await this.#files.write(file, { ...after, record });
  }
}
