/**
 * What a former life of a cluster left: the claims that bear the names of its members, what is written on them, and what a
 * Pod that mounts them read-only says of their files.
 */
import type { PersistentVolumeClaim, Pod } from "kubernetes-types/core/v1.d.ts";
import { bytesOf } from "../../api/quantity.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import type { AdoptionFacts, LeftVolume } from "../../core/facts/adoption-facts.ts";
import { mayBeAdopted } from "../../core/assess/adoption.ts";
import type { ClusterFacts, MemberDirectory } from "../../core/observation.ts";
import { isEstablished, memberName, ordinalOf } from "../../core/record.ts";
import { claimName, memberAddress } from "../names.ts";
import { belongsTo } from "../records/member-object.ts";
import { directoryUID } from "../render/volumes.ts";
import { inspectionOf, readBy } from "./recovery-facts.ts";
import { identityOn } from "./released-volumes.ts";

export interface AdoptionObjects {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly pods: readonly Pod[];
  readonly members: readonly EtcdMember[];
}

export interface AdoptionContext {
  /** Our own image, which reads the volumes. */
  readonly image: string | undefined;
  /** By the API server's clock. */
  readonly now: number;
}

/** Undefined for a cluster that adopts nothing, or has done so. */
export function adoptionFacts(
  cluster: ClusterFacts,
  objects: AdoptionObjects,
  { image, now }: AdoptionContext,
): AdoptionFacts | undefined {
  const { marks } = cluster;
  if (!marks.adopting && !isAdopting(cluster)) return undefined;
  const left = isOnNodes(cluster)
    ? leftDirectories(cluster, objects, now)
    : objects.claims.flatMap((claim) => leftVolume(cluster, claim, objects, now));
  const volumes = left.toSorted((a, b) => ordinal(cluster, a.member) - ordinal(cluster, b.member));
  const named = volumes.flatMap(({ member, directory }) => [
    member,
    ...(directory?.state === "data" ? (directory.members ?? []).map(({ name }) => name) : []),
  ]);
  const recorded = (marks.adopting?.members ?? []).map(({ name }) => name);
  const ordinals = [
    ...new Set([...named, ...recorded].flatMap((name) => ordinalOf(cluster.name, name) ?? [])),
  ];
  return {
    volumes,
    absent: [],
    // From the first record on, Pods are our own.
    remains: marks.adopting ? [] : remainsOf(cluster, objects),
    addresses: ordinals.flatMap((one) =>
      (["Service", "Pod"] as const).map((dialled) => ({
        ordinal: one,
        address: memberAddress(cluster, one, dialled),
      })),
    ),
    ...(!marks.adopting && whyNot(cluster, image)),
  };
}

/** Voters that the data names, and of whom no claim was found. */
export function withoutVolume({ name: cluster }: ClusterFacts, { volumes }: AdoptionFacts): string[] {
  const voters = volumes.flatMap(({ directory }) =>
    directory?.state === "data" ? (directory.members ?? []).filter(({ isLearner }) => !isLearner) : [],
  );
  const names = new Set(voters.map(({ name }) => name));
  return [...names].filter(
    (name) => ordinalOf(cluster, name) !== undefined && !volumes.some(({ member }) => member === name),
  );
}

/** A Pod of a member or a record that is not ours: it may still write, or keeps a name that a member needs. */
function remainsOf({ name, uid }: ClusterFacts, { pods, members }: AdoptionObjects): string[] {
  const isMember = ({ metadata }: Pod) => ordinalOf(name, metadata?.name ?? "") !== undefined;
  const records = members.filter((member) => member.spec.cluster === name && !belongsTo(uid, member));
  return [
    ...pods.filter(isMember).map(({ metadata }) => `Pod ${metadata?.name}`),
    ...records.map(({ metadata }) => `EtcdMember ${metadata.name}`),
  ];
}

function whyNot(cluster: ClusterFacts, image: string | undefined): Pick<AdoptionFacts, "refused"> {
  if (image === undefined) return { refused: NO_IMAGE };
  const foreign = cluster.spec.storage.adopt?.directories?.find(
    ({ path }) => memberIn(cluster, path) === undefined,
  );
  if (!foreign) return {};
  return {
    refused: `spec.storage.adopt.directories: ${foreign.path} on ${foreign.node} is not the directory of a member of ${cluster.name}, which is named ${cluster.name}.<UID>/${cluster.name}-<number>.<UID>`,
  };
}

/** The member whose directory it is by its name; undefined for that of another cluster. */
function memberIn({ name: cluster }: ClusterFacts, path: string): string | undefined {
  const [, of, member = ""] = /^(.+)[.][^./]+[/](.+)[.][^./]+$/.exec(path) ?? [];
  return of === cluster && ordinalOf(cluster, member) !== undefined ? member : undefined;
}

const NO_IMAGE =
  "the operator does not know its own image, which reads them: start it with --image or QUORATE_IMAGE";

export function isAdopting({ uid, marks, spec }: Pick<ClusterFacts, "uid" | "marks" | "spec">): boolean {
  return spec.storage.adopt !== undefined && !isEstablished(uid, marks) && !marks.recovered;
}

/** Which reading of a volume counts: one that this cluster asked for, before anything of it ran. */
export function adoptionReading({ uid }: Pick<LeftVolume, "uid">): string {
  return `${uid} for adoption`;
}

function ordinal(cluster: ClusterFacts, member: string): number {
  return ordinalOf(cluster.name, member) ?? 0;
}

function leftVolume(
  cluster: ClusterFacts,
  claim: PersistentVolumeClaim,
  { pods }: AdoptionObjects,
  now: number,
): LeftVolume[] {
  const { name = "", uid, deletionTimestamp } = claim.metadata ?? {};
  const at = ordinalOf(claimName(cluster.name), name);
  if (at === undefined || uid === undefined) return [];
  const volume: LeftVolume = {
    object: `PersistentVolumeClaim ${name}`,
    member: memberName(cluster.name, at),
    uid,
    ...(deletionTimestamp !== undefined && { ending: true }),
    identity: identityOn(claim.metadata ?? {}),
    storage: storageOf(cluster, claim),
  };
  const { adopt } = cluster.spec.storage;
  if (!adopt || !mayBeAdopted(adopt, volume)) return [volume];
  return [{ ...volume, directory: directoryOf(volume, { pods, cluster }, now) }];
}

/** Only what the spec names: nothing of Kubernetes knows of a directory, and none of another cluster's name is looked into. */
function leftDirectories(cluster: ClusterFacts, { pods }: AdoptionObjects, now: number): LeftVolume[] {
  const { directories = [] } = cluster.spec.storage.adopt ?? {};
  return directories.flatMap(({ node, path }): LeftVolume[] => {
    const member = memberIn(cluster, path);
    if (member === undefined) return [];
    const volume = {
      object: `directory ${path} on ${node}`,
      member,
      uid: directoryUID(path),
      identity: {},
      storage: {},
      host: { node, path: `${cluster.namespace}/${path}` },
    };
    return [{ ...volume, directory: directoryOf(volume, { pods, cluster }, now) }];
  });
}

export function isOnNodes({ spec }: Pick<ClusterFacts, "spec">): boolean {
  return spec.storage.medium === "HostPath";
}

function directoryOf(
  volume: LeftVolume,
  objects: { readonly pods: readonly Pod[]; readonly cluster: ClusterFacts },
  now: number,
): MemberDirectory {
  const pod = inspectionOf(adoptionReading(volume), objects);
  return pod ? readBy(pod, now) : { state: "reading", why: "the Pod that reads it is not there yet" };
}

/** The class and size of a claim, where the spec asks for others. */
function storageOf(
  { spec: { storage } }: ClusterFacts,
  { spec }: PersistentVolumeClaim,
): LeftVolume["storage"] {
  const className = spec?.storageClassName;
  const asked = spec?.resources?.requests?.["storage"];
  const differs = asked !== undefined && bytesOf(asked) !== bytesOf(storage.size);
  return {
    ...(className !== undefined &&
      storage.className !== undefined &&
      className !== storage.className && { className }),
    ...(differs && { size: asked }),
  };
}
