/**
 * What etcd's leader does by itself: moves the cluster version when all members are new, carries a
 * downgrade through, ends it when it is done (R10, R15, H13), and compares hashes after a compaction (R30).
 */
import { minorNumber, minorOf } from "../../../src/core/version/version.ts";
import { hashAt } from "./data-dir.ts";
import type { Op } from "./entry.ts";
import type { Server } from "./server.ts";

/** The operations the leader proposes now, given what its peers say. */
export function leaderDuties(leader: Server, reached: (id: string) => Server | undefined): Op[] {
  const { state } = leader.dir;
  const peers = [...state.members.keys()].map(reached);
  const all = peers.every((peer) => peer !== undefined) ? peers : undefined;
  const lowest = all
    ?.map((peer) => minorOf(peer.version))
    .toSorted((a, b) => minorNumber(a) - minorNumber(b))[0];
  if (state.clusterVersion === undefined) {
    return lowest === undefined ? [] : [{ kind: "cluster-version", version: lowest }];
  }
  if (state.downgrade !== undefined) {
    // Nothing moves while one of the members cannot be asked for its version.
    if (all && state.downgrade !== state.clusterVersion) {
      return [{ kind: "cluster-version", version: state.downgrade }];
    }
    const done = all?.every((peer) => minorOf(peer.version) === state.downgrade);
    return done ? [{ kind: "downgrade" }] : [];
  }
  if (lowest !== undefined && minorNumber(lowest) > minorNumber(state.clusterVersion)) {
    return [{ kind: "cluster-version", version: lowest }];
  }
  return [];
}

/**
 * Whose hash differs from the majority's, at the leader's compact revision. The leader asks every member on its peer port,
 * where learners answer too (etcd's getPeerHashKVs and hashKVHandler); only their client port refuses (H8).
 */
export function corruptMembers(leader: Server, reached: (id: string) => Server | undefined): Server[] {
  const revision = leader.dir.state.compactRevision;
  const byHash = new Map<number, Server[]>();
  for (const member of leader.dir.state.members.values()) {
    const peer = reached(member.id);
    if (!peer || peer.dir.state.compactRevision !== revision) continue;
    const hash = hashAt(peer.dir, revision);
    byHash.set(hash, [...(byHash.get(hash) ?? []), peer]);
  }
  const groups = [...byHash.values()].toSorted((a, b) => b.length - a.length);
  return groups.slice(1).flat();
}
