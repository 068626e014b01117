/**
 * Where the image of a cluster comes from that names no repository: from the operator's, as it was when the cluster was
 * first seen or last given another version. An operator that is given another repository so restarts nobody; the next
 * rollout of a version brings members there.
 */
import { repositoryFormat, type EtcdClusterSpec } from "../../api/etcd-cluster-spec.ts";
import { ANNOTATIONS } from "../names.ts";

interface Given {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly image?: { readonly repository?: string } };
}

/** The object is as a user wrote it: a cluster's own repository wins. */
export function namesRepository({ spec }: Given): boolean {
  return spec?.image?.repository !== undefined;
}

/** For the annotation on the cluster. */
export function imageNote({ image, version }: Pick<EtcdClusterSpec, "image" | "version">): string {
  return `${image.repository}:v${version}`;
}

/** The spec with the repository that its images come from. */
export function withRepository(object: Given, spec: EtcdClusterSpec, ofOperator: string): EtcdClusterSpec {
  if (namesRepository(object)) return spec;
  const [noted, tag] =
    /^(.+):v([^:/]+)$/.exec(object.metadata?.annotations?.[ANNOTATIONS.image] ?? "")?.slice(1) ?? [];
  const isNoted = noted !== undefined && tag === spec.version && repositoryFormat.check(noted, undefined);
  const repository = isNoted ? noted : ofOperator;
  return repository === spec.image.repository ? spec : { ...spec, image: { ...spec.image, repository } };
}
