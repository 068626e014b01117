/** What a person does to etcd itself, past the operator: takes a member out of its list, as with etcdctl. */
import type { Calls } from "../models/etcd/calls.ts";
import { Refusal } from "../models/etcd/refusal.ts";
import type { EtcdWorld } from "../models/etcd/world.ts";

/** One that has not started yet has no name in etcd, but its address. What etcd refuses is left as it is. */
export function removeByHand(world: EtcdWorld, calls: Calls, member: string): void {
  const voter = world.network.all().find((one) => one.serving && one.runs && !one.isLearner);
  const entries = [...(voter?.dir.state.members.values() ?? [])];
  const isIt = ({ name, peerURLs }: (typeof entries)[number]) =>
    name === member || peerURLs.some((url) => new URL(url).hostname.split(".")[0] === member);
  const entry = entries.find(isIt);
  if (!voter || !entry) return;
  try {
    calls.memberRemove(voter, entry.id);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}
