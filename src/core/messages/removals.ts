/** Messages of members on their way out, and of entries in etcd's list that no record stands for. */
import {
  FOREIGN_EXAMPLE,
  labelOf,
  removeForeign,
  sayForeign,
  type Foreign,
  type ListedMember,
} from "./foreign.ts";
import { CAUSES } from "./causes.ts";
import { step, wait } from "./message.ts";

interface Leaving {
  readonly member: string;
  /** As the record has it. */
  readonly cause: string;
}

const LEAVING: Leaving = { member: "demo-2", cause: CAUSES.volumeGone };
const GHOST: ListedMember = { id: "8e9e05c52164694d", name: "demo-2", peerURLs: ["https://10.0.0.2:2380"] };

export const REMOVALS = {
  AbandonedBoot: step({
    say: ({ member }: { member: string }) => `${member} belongs to an abandoned bootstrap`,
    example: { member: "demo-1" },
  }),
  FormerMember: step({
    say: ({ member }: { member: string }) =>
      `${member} belongs to the cluster as it was before the recovery; its volume is kept`,
    example: { member: "demo-1" },
  }),
  MemberLeaving: step({
    say: ({ member, cause }: Leaving) => `removing ${member}: ${cause}`,
    example: LEAVING,
  }),
  DataRemains: step({
    say: ({ member, where, why }: { member: string; where: string; why: string }) =>
      `deleting the record of ${member}; its data remains in ${where}: ${why}. Remove it when you no longer need it`,
    example: {
      member: "demo-2",
      where: "/var/lib/etcd/default/demo.5c7e0f7a/demo-2.b1d6f0c2 on node-1",
      why: "the node no longer exists",
    },
  }),
  DataBeingDeleted: wait("DataBeingDeleted", {
    say: ({ member, where }: { member: string; where: string }) =>
      `waiting for the data of ${member} in ${where} to be deleted`,
    example: {
      member: "demo-2",
      where: "/var/lib/etcd/default/demo.5c7e0f7a/demo-2.b1d6f0c2 on node-1",
    },
  }),
  NameUsed: step({
    say: ({ member }: { member: string }) => `recording the name ${member}, which is never reused`,
    example: { member: "demo-2" },
  }),
  LeaderLeaving: step({
    say: ({ member }: { member: string }) => `${member} leads and is about to be removed`,
    example: { member: "demo-1" },
  }),
  MemberTooMany: step({
    say: ({ member, cause }: Leaving) => `removing ${member}: ${cause}`,
    example: { member: "demo-5", cause: CAUSES.fewerWanted("replicas", 3) },
  }),
  ComparedBeforeRemoval: step({
    say: () => "comparing the data of all voters before one is removed",
    example: {},
  }),
  DeletedByHand: step({
    say: ({ member }: { member: string }) => `the record of ${member} was deleted, so it is replaced`,
    example: { member: "demo-2" },
  }),
  RemovalAwaitsVoters: wait("RemovalUnsafe", {
    say: ({ member, cause }: Leaving) =>
      `${member} is removed (${cause}) once enough of the other voters are healthy`,
    example: LEAVING,
  }),
  RemovedStillStopping: wait("Stopping", {
    say: ({ member }: { member: string }) => `waiting for ${member} to stop`,
    example: { member: "demo-2" },
  }),
  RemovedStuck: wait("Stopping", {
    say: ({ member }: { member: string }) =>
      `${member} has left etcd, but its Pod has been terminating for more than 5 min, so its record and volume are kept`,
    next: ({ member }) =>
      `Check why ${member} does not stop: its node may be down, or its container may hang. If the node is gone for good, delete the Node object or force-delete the Pod.`,
    example: { member: "demo-2" },
  }),
  MemberStays: step({
    say: ({ member }: { member: string }) => `${member} again runs what the spec asks for, so it stays`,
    example: { member: "demo-2" },
  }),
  ForeignMember: wait("ForeignMember", {
    say: ({ foreign }: { foreign: Foreign }) => sayForeign(foreign),
    next: ({ foreign }) => removeForeign(foreign),
    example: { foreign: FOREIGN_EXAMPLE },
  }),
  RecordUnconfirmed: wait("RecordUnconfirmed", {
    say: ({ listed }: { listed: ListedMember }) =>
      `etcd lists ${labelOf(listed)}, but its record was not found; waiting for the API server to confirm that it was deleted`,
    example: { listed: GHOST },
  }),
  GhostRemoved: step({
    say: ({ listed }: { listed: ListedMember }) =>
      `${labelOf(listed)} has no record: a leftover of this cluster`,
    example: { listed: GHOST },
  }),
} as const;
