/** Messages of a first boot from the volumes that a former life of the cluster left. */
import { minorOf } from "../version/version.ts";
import { givenBy, type Approvable } from "./approvals.ts";
import { step, wait, type Names } from "./message.ts";
import { list, plural } from "./words.ts";

/** PersistentVolumes of this identity that are not given a claim, each with the reason; and why there may be more. */
export interface NotBound {
  readonly released?: readonly string[];
  readonly unlisted?: string | undefined;
}

/** Why nothing is taken. */
export type AdoptionProblem =
  /** This platform cannot look into volumes. */
  | { readonly kind: "unreadable"; readonly why: string }
  /** No volume of this cluster's name has the identity that was asked for; `found` are those of another. */
  | ({ readonly kind: "none"; readonly found: readonly string[] } & NotBound)
  /** Several PersistentVolumes that outlived their claim are of one member. */
  | { readonly kind: "copies"; readonly volumes: readonly string[]; readonly member: string }
  /** Those that have it hold no data. */
  | { readonly kind: "no-data"; readonly objects: readonly string[] }
  /** Of these voters there is no volume, and the others are no quorum. */
  | ({
      readonly kind: "lacks";
      readonly members: readonly string[];
      readonly objects: readonly string[];
      readonly approval: Approvable;
    } & NotBound)
  | { readonly kind: "several"; readonly clusterIDs: readonly string[] }
  /** What its files hold is not what is written on it, or not the data of the member that its name is of. */
  | { readonly kind: "differs"; readonly object: string; readonly says: string; readonly holds: string }
  /** Its name is that of a member, and it holds something else, or nothing that tells what it is. */
  | { readonly kind: "foreign"; readonly object: string; readonly clusterID?: string | undefined }
  /** Its member was started alone meanwhile. */
  | { readonly kind: "alone"; readonly object: string; readonly data: string }
  | { readonly kind: "twice"; readonly objects: readonly string[]; readonly memberID: string }
  /** A member of this data could not have its name in this cluster. */
  | { readonly kind: "unnamed"; readonly name: string }
  | {
      readonly kind: "address";
      readonly member: string;
      readonly peerURL: string;
      readonly here: readonly string[];
    }
  | {
      readonly kind: "version";
      readonly object: string;
      readonly wrote: string;
      readonly asked: string;
    };

/** Which one, and whose. */
export function sayVolume(object: string, clusterID: string | undefined): string {
  return `${object} (${clusterID === undefined ? "no identity" : `cluster ID ${clusterID}`})`;
}

export function sayReleased(volume: string, why: string | undefined): string {
  return `PersistentVolume ${volume} (${why})`;
}

/** What a PersistentVolume has been given. */
export function sayClaim(member: string): string {
  return `the claim of ${member}`;
}

export function sayIDs({ clusterID = "unknown", memberID = "unknown" }: IDs): string {
  return `member ${memberID} of cluster ${clusterID}`;
}

interface IDs {
  readonly clusterID?: string | undefined;
  readonly memberID?: string | undefined;
}

/** Whatever bears the name of a member. */
export const ALL_VOLUMES = "the PersistentVolumes";
export const NO_VOLUMES = "there are no volumes of a former cluster here";

interface Asked {
  readonly clusterID?: string | undefined;
  readonly token?: string | undefined;
}

function sayAsked({ clusterID, token }: Asked): string {
  return clusterID === undefined ? `token ${token}` : `cluster ID ${clusterID}`;
}

function sayNotBound({ released = [], unlisted }: NotBound): string {
  return [
    ...(released.length === 0 ? [] : [`; not bound again: ${list(released)}`]),
    ...(unlisted === undefined ? [] : [`; which PersistentVolumes there are is not known: ${unlisted}`]),
  ].join("");
}

function sayProblem(problem: AdoptionProblem, asked: Asked): string {
  switch (problem.kind) {
    case "unreadable":
      return `the volumes cannot be read: ${problem.why}`;
    case "none":
      return `no volume of this cluster's name in its namespace has the ${sayAsked(asked)}${
        problem.found.length === 0 ? "" : `; found: ${list(problem.found)}`
      }${sayNotBound(problem)}`;
    case "copies":
      return `the PersistentVolumes ${list(problem.volumes)} are all marked as the volume of ${problem.member}, and their claim is gone`;
    case "no-data":
      return `${list(problem.objects)} ${plural(problem.objects, "holds", "hold")} no data of the ${sayAsked(asked)} that etcd could start from`;
    case "lacks":
      return `${list(problem.objects)} of ${plural(problem.members, "the voter", "the voters")} ${list(problem.members)} ${plural(problem.objects, "is", "are")} not there, and the volumes that are there are too few for a quorum${sayNotBound(problem)}`;
    case "several":
      return `the volumes with the ${sayAsked(asked)} hold data of several clusters (IDs ${list(problem.clusterIDs)})`;
    case "differs":
      return `${problem.object} should hold ${problem.says}, but its files hold ${problem.holds}`;
    case "foreign":
      return `${problem.object} bears the name of a member of this data, but ${
        problem.clusterID === undefined
          ? "has neither an identity nor data"
          : `belongs to the cluster with ID ${problem.clusterID}`
      }`;
    case "alone":
      return `the member of ${problem.object} was started alone before (quorate recover node), and ${problem.data} in it may hold writes that its siblings never had`;
    case "twice":
      return `${list(problem.objects)} all hold the data of member ${problem.memberID}: two copies of one member must not both run`;
    case "unnamed":
      return `the data names a member ${problem.name}, which no member of this cluster can be called`;
    case "address":
      return `the data names ${problem.member} with the peer URL ${problem.peerURL}, which it cannot have here (${list(problem.here)})`;
    case "version":
      return `etcd ${problem.wrote} wrote the data on ${problem.object}, which etcd ${problem.asked} must not start from directly`;
  }
}

function sayNext(problem: AdoptionProblem): string {
  switch (problem.kind) {
    case "unreadable":
      return "Correct what the message names.";
    case "none":
      return "Delete this EtcdCluster, and create it again with the cluster ID of the volumes, in their namespace and under their cluster's name. A PersistentVolume that the operator does not bind again can be bound to a claim by hand.";
    case "copies":
      return "Remove the label etcd.quorate.dev/cluster from the PersistentVolumes that were not in use last (annotation etcd.quorate.dev/last-used).";
    case "no-data":
      return "Start from a snapshot instead, with spec.bootstrap.restore.";
    case "lacks":
      return `Bring ${plural(problem.objects, "it", "them")} back: the volumes are used as soon as enough for a quorum are there. If the data is lost for good, ${givenBy(problem.approval)}: quorum is lost then, and can be recovered from the members that are left.`;
    case "several":
      return "Delete this EtcdCluster, and create it again with storage.adopt.clusterID of the one that you want.";
    case "differs":
    case "foreign":
      return "Bring back the right volume under that name, or delete the claim if the member's data is lost. With medium HostPath, create the EtcdCluster again with the right directory in storage.adopt.directories, or without it.";
    case "alone":
      return "Take a snapshot of that etcd, and start from it with spec.bootstrap.restore; or delete its data if it is not wanted, and create this EtcdCluster again.";
    case "twice":
      return "Keep the volume that was in use last, and delete the claim of the other one.";
    case "unnamed":
      return "Create the EtcdCluster under the name that the members have, without -<ordinal>.";
    case "address":
      return "Use the namespace and the peer TLS (http or https) that the members had.";
    case "version":
      return `Set spec.version to a release of ${minorOf(problem.wrote)}, and upgrade when the cluster runs.`;
  }
}

export const ADOPTION = {
  AdoptionReads: wait("Adopting", {
    say: ({ objects, why }: { objects: Names; why?: string | undefined }) =>
      `reading what ${list(objects)} ${plural(objects, "holds", "hold")}${why === undefined ? "" : ` (${why})`}`,
    volatile: ["why"],
    example: {
      objects: ["PersistentVolumeClaim data-demo-1"],
      why: "Pod demo-1-4c1f0a2e-inspect is being started",
    },
  }),
  AdoptionAwaits: wait("Adopting", {
    say: ({ objects }: { objects: Names }) =>
      `waiting for ${list(objects)} of the former cluster to be deleted before its volumes are used`,
    example: { objects: ["Pod demo-1"] },
  }),
  AdoptionRefused: wait("AdoptionRefused", {
    say: ({ problem, ...asked }: { problem: AdoptionProblem } & Asked) =>
      `spec.storage.adopt: ${sayProblem(problem, asked)}; no member was started, and no data was changed`,
    next: ({ problem }) => sayNext(problem),
    approval: ({ problem }) => (problem.kind === "lacks" ? problem.approval : undefined),
    example: {
      problem: { kind: "none", found: ["PersistentVolumeClaim data-demo-1 (cluster ID 4a5d1c3e0f9b2d61)"] },
      clusterID: "51f0a3c2d4e5b697",
    },
  }),
  VolumeBinds: step({
    say: ({ volume, member }: { volume: string; member: string }) =>
      `PersistentVolume ${volume} outlived its claim, and is bound to one of ${member} again`,
    example: { volume: "pvc-3f1a", member: "demo-1" },
  }),
  AdoptionBegins: step({
    say: ({
      clusterID,
      members,
      missing,
      left,
      tooFew,
    }: {
      clusterID: string;
      members: Names;
      missing: Names;
      left: Names;
      tooFew: boolean;
    }) =>
      [
        `the volumes hold ${list(members)} of the cluster with ID ${clusterID}`,
        ...(missing.length > 0 ? [`there is none of ${list(missing)}`] : []),
        ...(tooFew ? ["too few for a quorum, so a recovery from the survivors follows"] : []),
        ...(left.length > 0 ? [`left as they are: ${list(left)}`] : []),
      ].join("; "),
    example: {
      clusterID: "4a5d1c3e0f9b2d61",
      members: ["demo-1", "demo-2", "demo-3"],
      missing: ["demo-3"],
      left: [],
      tooFew: false,
    },
  }),
  MemberAdopted: step({
    say: ({ member, memberID, isLost }: { member: string; memberID: string; isLost: boolean }) =>
      isLost
        ? `${member} (${memberID}) is a voter of the adopted data, and its volume is not there`
        : `${member} starts on its volume as member ${memberID} again`,
    example: { member: "demo-1", memberID: "8e9e05c52164694d", isLost: false },
  }),
  AdoptionEnds: step({
    say: ({ count }: { count: number }) => `all ${count} members of the adopted data are recorded`,
    example: { count: 3 },
  }),
} as const;
