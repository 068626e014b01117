/** What is known of the model while steps are chosen: who runs, who is a member, who leads, whose data is there. */
import type { Server } from "../server.ts";
import type { Member } from "../state.ts";
import type { ModelSide } from "./model-side.ts";
import type { Slot } from "./side.ts";

export interface Ground {
  readonly model: ModelSide;
  readonly slots: readonly Slot[];
  readonly founders: readonly Slot[];
  readonly token: string;
  readonly version: string;
  /** Options of every member. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** No waiting for the disk. */
const QUICK = { "heartbeat-interval": 100, "election-timeout": 1_000, "unsafe-no-fsync": true };

export interface Boot {
  readonly state: "new" | "existing";
  readonly cluster: readonly Pick<Slot, "name" | "peerUrl">[];
  readonly token?: string;
}

export function configOf(
  ground: Ground,
  slot: Slot,
  { state, cluster, token }: Boot,
): Record<string, unknown> {
  return {
    name: slot.name,
    "data-dir": slot.name,
    "listen-peer-urls": slot.peerUrl,
    "listen-client-urls": slot.clientUrl,
    "initial-advertise-peer-urls": slot.peerUrl,
    "advertise-client-urls": slot.clientUrl,
    "initial-cluster": cluster.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(","),
    "initial-cluster-state": state,
    "initial-cluster-token": token ?? ground.token,
    ...QUICK,
    ...ground.extra,
  };
}

/** Slots whose process answers clients. */
export function serving({ model, slots }: Ground): Slot[] {
  return slots.filter((slot) => model.server(slot)?.serving === true);
}

export function leaderOf(ground: Ground): Slot | undefined {
  return ground.slots.find((slot) => {
    const server = ground.model.server(slot);
    return server?.serving && ground.model.world.raftOf(server).leader === server && isOurs(ground, server);
  });
}

/** Not of a cluster that a member founded for itself. */
function isOurs({ model, founders }: Ground, server: Server): boolean {
  const clusters = founders.flatMap((slot) => model.disk.dirs.get(slot.name)?.clusterID ?? []);
  return clusters[0] === undefined || clusters.includes(server.dir.clusterID);
}

/** The members as the leader knows them, or as anybody does. */
export function membersOf(ground: Ground): readonly Member[] {
  const slot = leaderOf(ground) ?? serving(ground).find((one) => !ground.model.server(one)?.isLearner);
  return slot ? (ground.model.server(slot)?.knownMembers() ?? []) : [];
}

export function slotOf({ slots }: Ground, member: Member): Slot | undefined {
  return slots.find(({ peerUrl }) => member.peerURLs.includes(peerUrl));
}
