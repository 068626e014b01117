/**
 * What a member has applied: membership, keys, alarms, versions, and what its database file weighs.
 * `apply` is etcd's: a change that does not hold is refused when it is applied, on each member by itself.
 */
import { AuthState } from "./auth.ts";
import type { AlarmName, Entry, KeyOp, Op } from "./entry.ts";
import type { RefusalKind } from "./refusal.ts";

export interface Member {
  readonly id: string;
  /** Empty until it has started, for one that was added; founders have theirs from the start (H14). */
  name: string;
  peerURLs: readonly string[];
  /** Empty until it has published itself. */
  clientURLs: readonly string[];
  isLearner: boolean;
}

export interface Value {
  readonly size: number;
  readonly value: Uint8Array | undefined;
  readonly createRevision: number;
  readonly modRevision: number;
  readonly version: number;
}

/** What differs between members when they apply the same entry. */
export interface ApplyLimits {
  /** H1: checked when applied, so unequal limits split the membership. */
  readonly maxLearners: number;
}

/** An empty database file, as bbolt makes it. */
const EMPTY_BYTES = 20_480;
const KEPT_HASHES = 10;

export class State {
  members = new Map<string, Member>();
  removed = new Set<string>();
  clusterVersion: string | undefined;
  downgrade: string | undefined;
  /** `<memberID> <alarm>` of those raised. */
  alarms = new Set<string>();
  auth = new AuthState();
  keys = new Map<string, Value>();
  revision = 1;
  compactRevision = -1;
  /** The last compactions of this process, with the compact revision before each. */
  compactions: { readonly revision: number; readonly before: number }[] = [];
  /** Live keys and the history that no compaction has dropped. */
  dbSizeInUse = EMPTY_BYTES;
  /** The file: grows with use, shrinks only by defragmentation. */
  dbSize = EMPTY_BYTES;
  /** Running hash of all changes, by revision. */
  readonly hashes = new Map<number, number>([
    [0, 0],
    [1, 0],
  ]);
  #liveBytes = 0;

  copy(): State {
    const copy = new State();
    copy.members = new Map([...this.members].map(([id, member]) => [id, { ...member }]));
    copy.removed = new Set(this.removed);
    copy.clusterVersion = this.clusterVersion;
    copy.downgrade = this.downgrade;
    copy.alarms = new Set(this.alarms);
    copy.auth = this.auth.copy();
    copy.keys = new Map(this.keys);
    copy.revision = this.revision;
    copy.compactRevision = this.compactRevision;
    copy.dbSizeInUse = this.dbSizeInUse;
    copy.dbSize = this.dbSize;
    for (const [revision, hash] of this.hashes) copy.hashes.set(revision, hash);
    copy.#liveBytes = this.#liveBytes;
    return copy;
  }

  voters(): Member[] {
    return [...this.members.values()].filter((member) => !member.isLearner);
  }

  learners(): number {
    let count = 0;
    for (const member of this.members.values()) if (member.isLearner) count++;
    return count;
  }

  hasAlarm(alarm: AlarmName): boolean {
    for (const raised of this.alarms) if (raised.endsWith(alarm)) return true;
    return false;
  }

  apply({ op }: Entry, limits: ApplyLimits): RefusalKind | undefined {
    switch (op.kind) {
      case "election":
        return undefined;
      case "add":
        return this.#add(op, limits);
      case "promote":
        return this.#promote(op.id);
      case "remove":
        if (!this.members.delete(op.id)) return "memberNotFound";
        this.removed.add(op.id);
        return undefined;
      case "update":
        return this.#update(op.id, op.peerURLs);
      case "publish":
        return this.#publish(op);
      case "cluster-version":
        this.clusterVersion = op.version;
        return undefined;
      case "downgrade":
        this.downgrade = op.target;
        return undefined;
      case "alarm":
        if (op.raise) this.alarms.add(`${op.id} ${op.alarm}`);
        else this.alarms.delete(`${op.id} ${op.alarm}`);
        return undefined;
      case "put":
      case "delete":
        this.#change([op]);
        return undefined;
      case "txn":
        this.#change(op.ops);
        return undefined;
      case "raise":
        return this.#raise(op.by);
      case "compact":
        return this.#compact(op.revision);
      case "auth":
        return this.auth.apply(op.op);
    }
  }

  #add(op: Extract<Op, { kind: "add" }>, limits: ApplyLimits): RefusalKind | undefined {
    // An ID that was removed never comes back; etcd says "not found" for it.
    if (this.removed.has(op.id)) return "memberNotFound";
    if (this.members.has(op.id)) return "memberExists";
    for (const member of this.members.values()) {
      if (member.peerURLs.some((url) => op.peerURLs.includes(url))) return "peerURLExists";
    }
    if (op.isLearner && this.learners() + 1 > limits.maxLearners) return "tooManyLearners";
    const { id, name, peerURLs, isLearner } = op;
    this.members.set(id, { id, name, peerURLs, clientURLs: [], isLearner });
    return undefined;
  }

  #promote(id: string): RefusalKind | undefined {
    const member = this.members.get(id);
    if (member === undefined) return "memberNotFound";
    if (!member.isLearner) return "notLearner";
    member.isLearner = false;
    return undefined;
  }

  #update(id: string, peerURLs: readonly string[]): RefusalKind | undefined {
    const member = this.members.get(id);
    if (member === undefined) return "memberNotFound";
    for (const other of this.members.values()) {
      if (other.id !== id && other.peerURLs.some((url) => peerURLs.includes(url))) return "peerURLExists";
    }
    member.peerURLs = peerURLs;
    return undefined;
  }

  #publish(op: Extract<Op, { kind: "publish" }>): RefusalKind | undefined {
    const member = this.members.get(op.id);
    if (member === undefined) return "memberNotFound";
    member.name = op.name;
    member.clientURLs = op.clientURLs;
    return undefined;
  }

  /** One revision for all of them, and none when nothing changes. */
  #change(ops: readonly KeyOp[]): void {
    const changes = ops.some((op) => op.kind === "put" || keysBetween(this.keys, op.from, op.to).length > 0);
    if (changes) this.revision++;
    for (const op of ops) {
      if (op.kind === "put") this.#put(op.key, op.size, op.value);
      else this.#delete(op.from, op.to);
    }
  }

  #put(key: string, size: number, value: Uint8Array | undefined): void {
    const before = this.keys.get(key);
    this.keys.set(key, {
      size,
      value,
      createRevision: before?.createRevision ?? this.revision,
      modRevision: this.revision,
      version: (before?.version ?? 0) + 1,
    });
    this.#liveBytes += size - (before?.size ?? 0);
    this.#grow(size);
    this.#remember(key, size);
  }

  #delete(from: string, to: string | undefined): void {
    const gone = keysBetween(this.keys, from, to);
    if (gone.length === 0) return;
    for (const key of gone) {
      this.#liveBytes -= this.keys.get(key)?.size ?? 0;
      this.keys.delete(key);
      this.#remember(key, -1);
    }
    // A tombstone per key: deleting needs room too.
    this.#grow(64 * gone.length);
  }

  #compact(revision: number): RefusalKind | undefined {
    if (revision > this.revision) return "futureRevision";
    if (revision <= this.compactRevision) return "compacted";
    this.compactions = [...this.compactions, { revision, before: this.compactRevision }].slice(-KEPT_HASHES);
    this.compactRevision = revision;
    // Compacting to an older revision frees a part of the history.
    const history = this.dbSizeInUse - EMPTY_BYTES - this.#liveBytes;
    const kept = Math.min(history, (this.revision - revision) * 64);
    this.dbSizeInUse = EMPTY_BYTES + this.#liveBytes + Math.max(0, kept);
    return undefined;
  }

  /** The file of a store that nothing was ever written to has no revision, though etcd tells 1. */
  #raise(by: number): undefined {
    const raised = (this.revision > 1 ? this.revision : 0) + by;
    this.hashes.set(raised, this.hashes.get(this.revision) ?? 0);
    this.revision = raised;
    this.compactRevision = raised;
  }

  #grow(size: number): void {
    this.dbSizeInUse += size;
    this.dbSize = Math.max(this.dbSize, this.dbSizeInUse);
  }

  #remember(key: string, what: number): void {
    let hash = (this.hashes.get(this.revision) ?? this.hashes.get(this.revision - 1) ?? 0) ^ what;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
    this.hashes.set(this.revision, hash >>> 0);
  }
}

/** etcd's ranges: one key without `to`, all from `from` on with "\0", else [from, to). */
export function keysBetween(
  keys: ReadonlyMap<string, unknown>,
  from: string,
  to: string | undefined,
): string[] {
  if (to === undefined) return keys.has(from) ? [from] : [];
  return [...keys.keys()].filter((key) => key >= from && (to === "\0" || key < to)).toSorted();
}
