/**
 * Which cluster and which of its members the names on a command line mean. A member's name tells its cluster, so that
 * nobody has to name both.
 */
import type { EtcdMember } from "../../api/etcd-member.ts";
import { ordinalOf } from "../../core/record.ts";
import { UsageError } from "../io.ts";
import { chosenCluster, noCluster, noSuch } from "../target/choose.ts";
import type { ClusterObject, Target } from "../target/target.ts";

export interface Subject {
  readonly cluster: ClusterObject;
  readonly members: readonly EtcdMember[];
  /** The members that were named, in that order; empty where none was. */
  readonly named: readonly EtcdMember[];
}

/** `names`: nothing, the cluster, the cluster and members of it, or only members. */
export async function subjectOf(target: Target, names: readonly string[]): Promise<Subject> {
  const [first] = names;
  if (first === undefined) return await withMembers(target, await chosenCluster(target, undefined), []);
  const clusters = (await target.clusters()).map(({ metadata }) => metadata.name);
  const isCluster = clusters.includes(first);
  const owner = clusters.find((cluster) => ordinalOf(cluster, first) !== undefined);
  if (isCluster && owner !== undefined && names.length === 1)
    throw new UsageError(
      `${first} is a cluster, and could be a member of ${owner}: write "${owner} ${first}" for the member, or name its members for the cluster`,
    );
  if (isCluster) return await withMembers(target, await target.cluster(first), names.slice(1));
  if (owner === undefined) return await nobody(target, first, clusters);
  return await withMembers(target, await target.cluster(owner), names);
}

/** A name of which nobody knows what it is: with one cluster, a member is more likely meant. */
async function nobody(target: Target, name: string, clusters: readonly string[]): Promise<never> {
  const [only] = clusters;
  if (only === undefined) throw noCluster(target);
  if (clusters.length > 1) throw noSuch("cluster", name, clusters, target.where);
  const { cluster, members } = await withMembers(target, await target.cluster(only), []);
  const names = members.map(({ metadata }) => metadata.name);
  throw noSuch("member", name, names, `in cluster ${cluster.metadata.name}`);
}

async function withMembers(
  target: Target,
  cluster: ClusterObject,
  names: readonly string[],
): Promise<Subject> {
  const members = await target.members(cluster);
  const known = members.map(({ metadata }) => metadata.name);
  const named = names.map((name) => {
    const found = members.find(({ metadata }) => metadata.name === name);
    if (found === undefined) throw noSuch("member", name, known, `in cluster ${cluster.metadata.name}`);
    return found;
  });
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice} is named twice: name each member once`);
  return { cluster, members, named };
}

export function namesOf(members: readonly EtcdMember[]): string[] {
  return members.map(({ metadata }) => metadata.name);
}

/** The one member of this name, with its cluster. */
export async function onlyMember(
  target: Target,
  name: string,
): Promise<Subject & { readonly member: EtcdMember }> {
  const clusters = (await target.clusters()).map(({ metadata }) => metadata.name);
  const owner = clusters.find((cluster) => ordinalOf(cluster, name) !== undefined);
  if (owner === undefined) {
    if (clusters.length === 0) throw noCluster(target);
    if (clusters.length > 1)
      throw new UsageError(
        `${name} is not a member: members are called <cluster>-<number>, and the clusters ${target.where} are ${clusters.join(", ")}`,
      );
    return await nobody(target, name, clusters);
  }
  const subject = await withMembers(target, await target.cluster(owner), [name]);
  const [member] = subject.named;
  if (member === undefined) throw noSuch("member", name, namesOf(subject.members), `in cluster ${owner}`);
  return { ...subject, member };
}
