/**
 * When a status is worth a write (I7). What a person acts on is written at once; numbers that move with every
 * client request ride along, or are written alone when they moved a lot and the last write is long ago.
 */
import type { EtcdClusterStatus, MemberStatus } from "../../api/etcd-cluster-status.ts";
import { sameContent } from "../template/hash.ts";

const FAST_FACTS_MS = 600_000;
const FAST_FACTS_SHARE = 0.1;
/** Entries that a follower is behind in passing. */
const USUAL_LAG = 1000;
/** A plan changes with every step of a long one; these are written together. */
const PLAN_MS = 10_000;

/**
 * Whether `next` says nothing that has to be written over `written`. `sinceWriteMs` is how long ago that was
 * written; 0 when unknown.
 */
export function sameStatus(
  written: EtcdClusterStatus | undefined,
  next: EtcdClusterStatus,
  sinceWriteMs: number,
): boolean {
  if (!written) return false;
  if (!sameContent(slow(written), slow(next))) return false;
  if (sinceWriteMs >= PLAN_MS && !sameContent(written.plan ?? [], next.plan ?? [])) return false;
  return sinceWriteMs < FAST_FACTS_MS || !movedALot(fast(written), fast(next));
}

/** Whether nothing of `next` is left to be written but numbers that ride along. */
export function isWritten(written: EtcdClusterStatus | undefined, next: EtcdClusterStatus): boolean {
  return sameStatus(written, next, PLAN_MS);
}

/** All but the fast facts and the plan. Sentences are slow: they say since when, and roughly how far. */
function slow(status: EtcdClusterStatus): unknown {
  const { revision: _revision, plan: _plan, members, ...rest } = status;
  return {
    ...rest,
    members: members?.map(({ dbSize: _size, dbSizeInUse: _used, raftLag: _lag, ...member }) => member),
  };
}

function fast(status: EtcdClusterStatus): Map<string, number> {
  const facts = new Map<string, number>([["revision", status.revision ?? 0]]);
  for (const member of status.members ?? []) {
    for (const [key, value] of memberFacts(member)) facts.set(`${member.name}.${key}`, value);
  }
  return facts;
}

function memberFacts({ dbSize, dbSizeInUse, raftLag }: MemberStatus): [string, number][] {
  return [
    ["dbSize", dbSize ?? 0],
    ["dbSizeInUse", dbSizeInUse ?? 0],
    ["raftLag", Math.max(USUAL_LAG, raftLag ?? 0)],
  ];
}

function movedALot(before: Map<string, number>, after: Map<string, number>): boolean {
  return [...after].some(([key, value]) => {
    const old = before.get(key) ?? 0;
    return Math.abs(value - old) > FAST_FACTS_SHARE * Math.max(1, old);
  });
}
