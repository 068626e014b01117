/** Messages of a first boot. */
import { step, wait, type Names } from "./message.ts";
import { list, plural } from "./words.ts";

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
    say: ({ member, count, restored }: { member: string; count: number; restored?: boolean }) =>
      restored
        ? `${member} starts from the snapshot of spec.bootstrap.restore; the other members will join it`
        : `${member} is one of the ${count} initial members`,
    example: { member: "demo-1", count: 3 },
  }),
  FounderPermitted: step({
    say: ({ member }: { member: string }) => `the volume of ${member} is ready, so it may start`,
    example: { member: "demo-1" },
  }),
  FounderLostVolume: step({
    say: ({ members }: { members: Names }) =>
      `${list(members)} lost ${plural(members, "its volume", "their volumes")} or data during bootstrap; bootstrapping again with a new cluster token`,
    example: { members: ["demo-2"] },
  }),
  FounderAwaitsOldVolume: step({
    say: ({ members }: { members: Names }) =>
      `${list(members)} ${plural(members, "waits", "wait")} for a volume that the spec no longer asks for; bootstrapping again with a new cluster token`,
    example: { members: ["demo-2"] },
  }),
  RestoreEdited: step({
    say: ({ members }: { members: Names }) =>
      `spec.bootstrap.restore was changed before ${list(members)} had started; bootstrapping again with a new cluster token`,
    example: { members: ["demo-1"] },
  }),
  Restoring: wait("Restoring", {
    say: ({ member, progress }: { member: string; progress: string }) =>
      `restoring ${member} from a snapshot: ${progress}`,
    volatile: ["progress"],
    example: { member: "demo-1", progress: "30 % read" },
  }),
  RestoreRetried: wait("Restoring", {
    say: ({ member, why }: { member: string; why: string; field: string }) =>
      `restoring ${member} from a snapshot is being retried: ${why}`,
    example: {
      member: "demo-1",
      why: "the store does not answer",
      field: "spec.bootstrap.restore.source",
    },
  }),
  RestoreFailed: wait("RestoreFailed", {
    say: ({ member, why, field }: { member: string; why: string; field: string }) =>
      `${member} could not be restored (${field}): ${why}`,
    next: ({ field }) =>
      `Correct ${field} or what it names; the restore is retried, and starts over when the spec changes.`,
    example: {
      member: "demo-1",
      why: "there is no object prod/etcd.db in the bucket backups",
      field: "spec.bootstrap.restore.source.s3.key",
    },
  }),
  RestoreRefused: wait("RestoreFailed", {
    say: ({ field, message }: { field: string; message: string }) => `${field}: ${message}`,
    next: ({ field }) => `Correct ${field}.`,
    example: {
      field: "spec.bootstrap.restore.source.file",
      message: "a file on this machine cannot be read by Pods",
    },
  }),
  PointAwaited: wait("Restoring", {
    say: ({ snapshot, why }: { snapshot: string; why: string | undefined }) =>
      `the snapshot of the point in time is built before members are started: EtcdSnapshot ${snapshot}${why === undefined ? "" : `: ${why}`}`,
    volatile: ["why"],
    example: {
      snapshot: "demo-point-51f0a3c2d4e5b697",
      why: "Pod demo-point-1f-save is taking the snapshot",
    },
  }),
  PointNotBuilt: wait("RestoreFailed", {
    say: ({ field, snapshot, why }: { field: string; snapshot: string; why: string }) =>
      `${field}: the snapshot of this point in time could not be built (EtcdSnapshot ${snapshot}): ${why}`,
    next: ({ field, snapshot }) =>
      `Correct ${field}, or delete EtcdSnapshot ${snapshot} to have it built again.`,
    example: {
      field: "spec.bootstrap.restore.pointInTime",
      snapshot: "demo-point-51f0a3c2d4e5b697",
      why: "the recorded changes begin at revision 2201",
    },
  }),
  RestoreTooLate: wait("RestoreTooLate", {
    say: () =>
      "spec.bootstrap.restore was added or changed after the cluster had started, and has no effect: its data was kept",
    next: () =>
      "Revert the change, or remove spec.bootstrap. To start from that snapshot, create another cluster.",
    example: {},
  }),
  FoundersStarting: wait("Booting", {
    say: ({ members, obstacle }: { members: Names; obstacle?: Obstacle }) =>
      `bootstrapping: waiting for ${list(members)}${sayObstacle(obstacle)}`,
    example: {
      members: ["demo-2", "demo-3"],
      obstacle: { kind: "waiting", member: "demo-2", why: "ErrImagePull" },
    },
  }),
  VolumeAwaited: wait("VolumePending", {
    say: ({ member, why }: { member: string; why?: string }) =>
      `waiting for the volume of ${member}${why === undefined ? "" : `: ${why}`}`,
    example: { member: "demo-1", why: "waiting for a volume to be created by the provisioner" },
  }),
  NoAddress: wait("NoAddress", {
    say: () => "no address is available for another member",
    next: () => "Free some ports, or choose another port range for this cluster.",
    example: {},
  }),
  ClusterSeen: step({
    say: ({ member }: { member: string }) => `${member} serves, so the cluster is bootstrapped`,
    example: { member: "demo-1" },
  }),
  MemberSeen: step({
    say: ({ member }: { member: string }) => `${member} serves; from now on it starts only with its own data`,
    example: { member: "demo-1" },
  }),
  ClientsWait: wait("Booting", {
    say: ({ members }: { members: Names }) =>
      `clients can connect once the nodes of ${list(members)} have synced the configuration for later restarts`,
    example: { members: ["demo-1"] },
  }),
} as const;
