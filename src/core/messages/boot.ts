/** Messages of a first boot. */
import { step, wait, type Names } from "./message.ts";
import { list } from "./words.ts";

/** What keeps a founder from starting, where it lasts. */
export type Obstacle =
  | { readonly kind: "ended" | "not-made" | "waiting"; readonly member: string; readonly why: string }
  | undefined;

function sayObstacle(obstacle: Obstacle): string {
  switch (obstacle?.kind) {
    case undefined:
      return "";
    case "ended":
      return ` (${obstacle.member} ended: ${obstacle.why})`;
    case "not-made":
      return ` (${obstacle.member} cannot be started: ${obstacle.why})`;
    case "waiting":
      return ` (${obstacle.member} cannot start: ${obstacle.why})`;
  }
}

export const BOOT = {
  FounderCreated: step({
    say: ({ member, count }: { member: string; count: number }) =>
      `${member} is one of the ${count} first members`,
    example: { member: "demo-1", count: 3 },
  }),
  FounderPermitted: step({
    say: ({ member }: { member: string }) => `${member} may start on its volume`,
    example: { member: "demo-1" },
  }),
  FounderLostVolume: step({
    say: ({ members }: { members: Names }) =>
      `${list(members)} lost its volume or what was in it during the first boot: begin anew under another token`,
    example: { members: ["demo-2"] },
  }),
  FounderAwaitsOldVolume: step({
    say: ({ members }: { members: Names }) =>
      `${list(members)} waits for a volume that the spec does not ask for any more: begin anew under another token`,
    example: { members: ["demo-2"] },
  }),
  FoundersStarting: wait("Booting", {
    say: ({ members, obstacle }: { members: Names; obstacle?: Obstacle }) =>
      `the first members start: waiting for ${list(members)}${sayObstacle(obstacle)}`,
    example: {
      members: ["demo-2", "demo-3"],
      obstacle: { kind: "waiting", member: "demo-2", why: "ErrImagePull" },
    },
  }),
  VolumeAwaited: wait("VolumePending", {
    say: ({ member, why }: { member: string; why?: string }) =>
      `${member} waits for its volume${why === undefined ? "" : `: ${why}`}`,
    example: { member: "demo-1", why: "waiting for a volume to be created by the provisioner" },
  }),
  NoAddress: wait("NoAddress", {
    say: () => "the platform has no address for another member",
    next: () => "Free some ports, or choose another port range for this cluster.",
    example: {},
  }),
  ClusterSeen: step({
    say: ({ member }: { member: string }) => `${member} serves: the cluster exists`,
    example: { member: "demo-1" },
  }),
  MemberSeen: step({
    say: ({ member }: { member: string }) => `${member} serves: from now on it starts only with its own data`,
    example: { member: "demo-1" },
  }),
  ClientsWait: wait("Booting", {
    say: ({ members }: { members: Names }) =>
      `clients can connect once the nodes of ${list(members)} have picked up the configuration for later restarts`,
    example: { members: ["demo-1"] },
  }),
} as const;
