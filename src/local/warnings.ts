/** What a spec allows but is seldom meant, as far as it applies on one machine: the same words as on Kubernetes. */
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { clusterWarnings } from "../api/warnings.ts";
import { applicableSpec } from "./applicable-spec.ts";

/** Volumes have no size here. */
const NOT_HERE: ReadonlySet<string> = new Set(["spec.storage.size"]);

export function specWarnings(spec: EtcdClusterSpec): string[] {
  return clusterWarnings(applicableSpec(spec))
    .filter(({ path }) => !NOT_HERE.has(path))
    .map(({ path, message }) => `${path}: ${message}`);
}
