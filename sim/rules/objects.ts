/**
 * What a directly simulated cluster keeps outside the operator: the cluster with its marks, a record per
 * member, volumes, and the configuration files that processes read at their start. It outlives crashes.
 */
import type { RestoreFault } from "../../src/api/bootstrap.ts";
import type { EtcdClusterSpec } from "../../src/api/etcd-cluster-spec.ts";
import type { Action, NewMemberRecord, RecordChange } from "../../src/core/action.ts";
import { etcdConfig } from "../../src/core/config/flags.ts";
import type { ClusterFacts, OperationFacts } from "../../src/core/observation.ts";
import type { OperationTask } from "../../src/core/operations/task.ts";
import { quorum } from "../../src/core/quorum.ts";
import {
  FIRST_MARKS,
  isEstablished,
  memberName,
  type MemberAddress,
  type MemberRecord,
} from "../../src/core/record.ts";
import type { DataDir, DataDirs } from "../models/etcd/data-dir.ts";
import { ModelAuthorities } from "./authorities.ts";
import { Backups } from "./backups.ts";

/** A write that met another version than it was decided on. */
export class Conflict extends Error {
  override name = "Conflict";
}

export interface Volume {
  readonly uid: string;
  readonly path: string;
}

export interface Config {
  readonly text: string;
  /** It names the member alone: with it an empty directory does not start (H3). */
  readonly joined: boolean;
  /** What it was rendered from. */
  readonly from: readonly [MemberRecord, Volume, established: boolean];
}

export class Objects implements DataDirs {
  cluster: ClusterFacts;
  readonly records = new Map<string, MemberRecord>();
  readonly deleting = new Set<string>();
  /** By a person. */
  readonly fenced = new Set<string>();
  readonly operations = new Map<string, OperationFacts>();
  readonly authorities: ModelAuthorities;
  readonly backups: Backups;
  readonly volumes = new Map<string, Volume>();
  readonly configs = new Map<string, Config>();
  readonly #dirs = new Map<string, DataDir>();
  readonly full = new Set<string>();
  /** Members that the operator alone cannot reach; "all" is everybody, those to come too (H16). */
  blind: ReadonlySet<string> | "all" = new Set();
  /** What keeps the snapshot of `spec.bootstrap.restore` from being restored; undefined: nothing. */
  snapshotFault: RestoreFault | undefined;
  /** No workload can be made. */
  refusing = false;
  readonly #now: () => number;
  #uids = 0;
  #openedAs: string | undefined;
  /** Writes to records and marks, so that "no writes when converged" can be seen (I7). */
  writes = 0;

  constructor(name: string, spec: EtcdClusterSpec, now: () => number) {
    this.#now = now;
    this.authorities = new ModelAuthorities(now);
    this.backups = new Backups(now);
    this.cluster = {
      name,
      namespace: "sim",
      uid: `uid-of-${name}`,
      generation: 1,
      deleting: false,
      spec,
      marks: FIRST_MARKS,
    };
  }

  read(path: string): DataDir | undefined {
    return this.#dirs.get(path);
  }
  write(path: string, dir: DataDir): void {
    this.#dirs.set(path, dir);
  }
  isFull(path: string): boolean {
    return this.full.has(path);
  }
  /** All that is on the volume goes; the volume stays. */
  wipe(path: string): void {
    this.#dirs.delete(path);
  }

  /** Whether the operator's packets arrive. */
  reaches(name: string): boolean {
    return this.blind !== "all" && !this.blind.has(name);
  }

  edit(spec: EtcdClusterSpec): void {
    this.cluster = { ...this.cluster, spec, generation: this.cluster.generation + 1 };
  }

  mark(change: Partial<ClusterFacts["marks"]>): void {
    this.writes++;
    this.cluster = { ...this.cluster, marks: { ...this.cluster.marks, ...change } };
  }

  get established(): boolean {
    return isEstablished(this.cluster.uid, this.cluster.marks);
  }

  /** Clients were let in. */
  get open(): boolean {
    return this.established && this.#openedAs === this.cluster.marks.established?.token;
  }

  /** Makes what leads clients to it, as soon as a quorum of the first members would not start over (H3). */
  openToClients(): void {
    const { token = "" } = this.cluster.marks.established ?? {};
    if (!this.established || this.open) return;
    const own = [...this.records.values()].filter((record) => record.token === token);
    const confirmed = own.filter(({ name, joined }) => joined && this.configs.get(name)?.joined);
    if (confirmed.length >= quorum(own.length)) this.#openedAs = token;
  }

  create(record: NewMemberRecord): void {
    if (this.records.has(record.name)) return;
    this.writes++;
    const uid = `record-${++this.#uids}`;
    this.records.set(record.name, { ...record, uid, resourceVersion: "1", createdAt: this.#now() });
  }

  update(name: string, resourceVersion: string, change: RecordChange): void {
    const before = this.records.get(name);
    if (before?.resourceVersion !== resourceVersion) throw new Conflict(`${name} was changed meanwhile`);
    this.writes++;
    const next = { ...before, ...change, resourceVersion: String(Number(resourceVersion) + 1) };
    this.records.set(name, next);
  }

  rotate(step: Extract<Action, { kind: "RotateAuthority" }>, now: number): void {
    if (!this.authorities.advance(step, now))
      throw new Conflict(`the ${step.plane} CA was changed meanwhile`);
    this.writes++;
  }

  /** A person asks for a task. */
  ask(name: string, task: OperationTask, ttlSecondsAfterFinished?: number): void {
    const uid = `operation-${++this.#uids}`;
    this.operations.set(name, {
      name,
      uid,
      resourceVersion: "1",
      generation: 1,
      createdAt: this.#now(),
      deleting: false,
      task,
      ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }),
      status: { observedGeneration: -1 },
    });
  }

  report(name: string, resourceVersion: string, status: OperationFacts["status"]): void {
    const before = this.operations.get(name);
    if (before?.resourceVersion !== resourceVersion) throw new Conflict(`${name} was changed meanwhile`);
    this.writes++;
    const next = { ...before, status, resourceVersion: String(Number(resourceVersion) + 1) };
    this.operations.set(name, next);
  }

  forgetOperation(name: string, uid: string): void {
    if (this.operations.get(name)?.uid !== uid) return;
    this.writes++;
    this.operations.delete(name);
  }

  delete(name: string): void {
    this.writes++;
    this.records.delete(name);
    this.deleting.delete(name);
    this.fenced.delete(name);
    this.configs.delete(name);
    this.authorities.forget(name);
  }

  /** True when one was made: only for a record that has never been permitted to start (H2, I4). */
  ensureVolume(record: MemberRecord): boolean {
    if (record.volumeUID !== undefined || record.leaving || this.volumes.has(record.name)) return false;
    this.replaceVolume(record.name);
    return true;
  }

  replaceVolume(name: string): void {
    const uid = `volume-${++this.#uids}`;
    this.volumes.set(name, { uid, path: `/${uid}` });
  }

  deleteVolume(name: string, uid: string): void {
    const volume = this.volumes.get(name);
    if (volume?.uid === uid) this.loseVolume(name);
  }

  loseVolume(name: string): void {
    const volume = this.volumes.get(name);
    if (volume) this.#dirs.delete(volume.path);
    this.volumes.delete(name);
  }

  /** Writes the file anew when the record says something else; true when it did. */
  ensureConfig(record: MemberRecord): boolean {
    const volume = this.volumes.get(record.name);
    if (!volume) return false;
    const { established } = this;
    const known = this.configs.get(record.name);
    const reissued = this.authorities.reissue(record.name);
    if (known && known.from[0] === record && known.from[1] === volume && known.from[2] === established)
      return reissued;
    const paths = {
      dataDir: volume.path,
      serverPem: "/pki/server",
      peerPem: "/pki/peer",
      clientCA: "/pki/ca",
      peerCA: "/pki/ca",
    };
    const text = JSON.stringify(etcdConfig(record, { established, paths }));
    this.configs.set(record.name, { text, joined: record.joined, from: [record, volume, established] });
    return known?.text !== text || reissued;
  }

  address(ordinal: number): MemberAddress {
    const host = memberName(this.cluster.name, ordinal);
    const [peerURL, clientURL, metricsURL] = [
      `https://${host}:2380`,
      `https://${host}:2379`,
      `http://${host}:2381`,
    ];
    return {
      peerURL,
      clientURL,
      metricsURL,
      listenPeerURL: peerURL,
      listenClientURL: clientURL,
      listenMetricsURL: metricsURL,
    };
  }
}
