/**
 * EtcdCluster ⇄ the facts that core decides on: the spec with its defaults, or what its members were last made from
 * where it cannot be understood; the marks from the annotations; what a person approved.
 */
import { IMAGE_REPOSITORY, type EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import type { EtcdCluster } from "../../api/etcd-cluster.ts";
import type { EtcdMember } from "../../api/etcd-member.ts";
import { parseCluster, type ParsedCluster } from "../../api/parse-cluster.ts";
import type { ApiError } from "../../api/validate.ts";
import type { ClusterFacts } from "../../core/observation.ts";
import { lastUnderstood } from "./last-understood.ts";
import { withRepository } from "./image-repository.ts";
import { marksOf } from "./marks.ts";
import { ANNOTATIONS } from "../names.ts";

export type ReadCluster = { ok: true; facts: ClusterFacts } | { ok: false; errors: ApiError[] };

/**
 * `members` are this cluster's own records. The object is parsed again although the API server has checked
 * it: an older resource definition may not know all defaults.
 */
export function readCluster(
  object: object,
  members: readonly EtcdMember[],
  imageRepository = IMAGE_REPOSITORY,
): ReadCluster {
  const parsed = parsedOnce(object, imageRepository);
  if (parsed.ok) return factsOf(parsed.cluster, parsed.cluster.spec, members);
  const given = object as Partial<EtcdCluster>;
  const spec = lastUnderstood(given, members);
  if (!spec || !given.metadata) return parsed;
  const read = factsOf({ metadata: given.metadata }, spec, members);
  return read.ok
    ? { ok: true, facts: { ...read.facts, invalid: textOf(parsed.errors) } }
    : { ok: false, errors: [...parsed.errors, ...read.errors] };
}

function factsOf(
  { metadata }: Pick<EtcdCluster, "metadata">,
  spec: EtcdClusterSpec,
  members: readonly EtcdMember[],
): ReadCluster {
  const { uid, annotations = {} } = metadata;
  if (uid === undefined) {
    return {
      ok: false,
      errors: [{ path: "metadata.uid", message: "is missing: this was not read from an API server" }],
    };
  }
  const { marks, unreadable, errors } = marksOf(uid, annotations, members);
  const deleting = metadata.deletionTimestamp !== undefined;
  // Deleting it needs no mark.
  if (errors.length > 0 && !deleting) return { ok: false, errors: [...errors] };
  const approved = annotations[ANNOTATIONS.approve];
  return {
    ok: true,
    facts: {
      name: metadata.name,
      namespace: metadata.namespace ?? "default",
      uid,
      generation: metadata.generation ?? 1,
      deleting,
      ...(approved !== undefined && { approved }),
      spec,
      marks,
      ...(unreadable.length > 0 && { unreadable }),
    },
  };
}

export function textOf(errors: readonly ApiError[]): string {
  return errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

/** Cached objects are frozen and live long: passes over an unchanged one share its spec, and all made from it. */
const known = new WeakMap<object, ParsedCluster>();

/** An operator is given one repository for all its life. */
function parsedOnce(object: object, imageRepository: string): ParsedCluster {
  let parsed = known.get(object);
  if (parsed === undefined) {
    parsed = parseCluster(object);
    if (parsed.ok) {
      const { cluster, ...rest } = parsed;
      parsed = {
        ...rest,
        cluster: { ...cluster, spec: withRepository(object, cluster.spec, imageRepository) },
      };
    }
    known.set(object, parsed);
  }
  return parsed;
}
