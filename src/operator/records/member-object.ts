/**
 * EtcdMember ⇄ the record of a member. Name, uid, version and time of creation are the object's metadata;
 * everything else is its spec, field by field. The template is handed on as it is, never parsed: it says
 * what already runs.
 */
import type { EtcdMember, EtcdMemberSpec } from "../../api/etcd-member.ts";
import { API_VERSION } from "../../api/metadata.ts";
import type { NewMemberRecord, RecordChange } from "../../core/action.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import type { MemberRecord } from "../../core/record.ts";
import { givenBy, withGiven } from "../render/given.ts";
import { lastingMarks } from "./marks.ts";
import { ANNOTATIONS, directoryBeginning, LABELS, MEMBER_FINALIZER, wholeDirectory } from "../names.ts";

/** Cached objects are frozen and live long: passes over an unchanged one share its record. */
const records = new WeakMap<EtcdMember, MemberRecord>();

export function recordOf(object: EtcdMember): MemberRecord {
  let record = records.get(object);
  if (record === undefined) {
    record = read(object);
    if (Object.isFrozen(object)) records.set(object, record);
  }
  return record;
}

function read({ metadata, spec }: EtcdMember): MemberRecord {
  const { name, uid, resourceVersion, creationTimestamp } = metadata;
  if (uid === undefined || resourceVersion === undefined || creationTimestamp === undefined)
    throw new TypeError(`EtcdMember ${name} has no uid or version: it was not read from an API server`);
  const { cluster: _, replicas: __, ...fields } = spec;
  return { name, uid, resourceVersion, createdAt: Date.parse(creationTimestamp), ...fields };
}

/** Fenced by a person. Whatever they wrote there, they meant it, but for the word that says the opposite. */
export function isFenced({ metadata }: EtcdMember): boolean {
  const value = metadata.annotations?.[ANNOTATIONS.fence];
  return value !== undefined && value.toLowerCase() !== "false";
}

/** Ours when the cluster with this very UID is its own; a name proves nothing (I9). */
export function belongsTo(clusterUID: string, member: EtcdMember): boolean {
  return clusterUIDOf(member) === clusterUID;
}

/**
 * The UID of the cluster that a record is of: its controller, or, should somebody have taken that away, the one in its
 * token, which never changes.
 */
export function clusterUIDOf({ metadata, spec }: EtcdMember): string | undefined {
  const controller = metadata.ownerReferences?.find((owner) => owner.controller);
  if (controller) return controller.uid;
  return /^(?<uid>.+)-\d+$/.exec(spec.token)?.groups?.["uid"];
}

/** The labels by which people and caches find it. */
export function memberIdentity({ name, uid }: Pick<ClusterFacts, "name" | "uid">): Record<string, string> {
  return { [LABELS.cluster]: name, [LABELS.clusterUID]: uid };
}

export function newMember(cluster: ClusterFacts, record: NewMemberRecord): EtcdMember {
  const { name, host, ...fields } = record;
  const owner = {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    name: cluster.name,
    uid: cluster.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const member: EtcdMember = {
    apiVersion: API_VERSION,
    kind: "EtcdMember",
    metadata: {
      name,
      namespace: cluster.namespace,
      labels: {
        "app.kubernetes.io/name": "etcd",
        "app.kubernetes.io/instance": cluster.name,
        "app.kubernetes.io/managed-by": "quorate",
        ...memberIdentity(cluster),
      },
      annotations: {
        [ANNOTATIONS.marks]: lastingMarks(cluster.marks),
        ...(record.template.storage.medium === "HostPath" && {
          [ANNOTATIONS.directory]: host ? wholeDirectory(host.path) : directoryBeginning(cluster, name),
          ...(host && { [ANNOTATIONS.node]: host.node }),
        }),
      },
      finalizers: [MEMBER_FINALIZER],
      ownerReferences: [owner],
    },
    spec: specOf(cluster.name, fields),
  };
  return withGiven(member, givenBy(cluster.spec.metadata));
}

/**
 * The object to put in place of `object`, under the version that was read (H10). The whole object and not a
 * patch: a patch would merge the new template into the old one.
 */
export function changedMember(
  object: EtcdMember,
  cluster: ClusterFacts,
  resourceVersion: string,
  change: RecordChange,
): EtcdMember {
  const { status: _, metadata, spec, ...kind } = object;
  const annotations = { ...metadata.annotations, [ANNOTATIONS.marks]: lastingMarks(cluster.marks) };
  return {
    ...kind,
    metadata: { ...metadata, resourceVersion, annotations },
    spec: specOf(cluster.name, { ...spec, ...change }),
  };
}

type Fields = Omit<NewMemberRecord, "name">;

/** A field set to undefined is absent, as in JSON. */
function specOf(cluster: string, fields: Fields): EtcdMemberSpec {
  const present = Object.entries({ ...fields, cluster }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as unknown as EtcdMemberSpec;
}
