/**
 * A change of the cluster's spec, checked before anything is stored: the schema, what this platform can do,
 * what this etcd version can take. Wrong input is reported field by field, and then nothing has changed.
 */
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import type { EtcdClusterSpec } from "../api/etcd-cluster-spec.ts";
import { kubernetesOnlyFields } from "../api/kubernetes-only.ts";
import { API_VERSION } from "../api/metadata.ts";
import { parseCluster } from "../api/parse-cluster.ts";
import type { ApiError } from "../api/validate.ts";
import { unsupportedOptions } from "../core/config/flags.ts";
import { remedyOf, sentenceOf } from "../core/messages/table.ts";
import { startStep } from "../core/version/upgrade.ts";
import type { StoredCluster } from "./store.ts";

/** Input that cannot be applied: what is wrong with which field. */
export class InvalidInput extends Error {
  override name = "InvalidInput";
  readonly errors: readonly ApiError[];
  constructor(errors: readonly ApiError[], source?: string) {
    super(errors.map((error) => describe(error, source)).join("\n"));
    this.errors = errors;
  }
}

function describe({ path, message, line }: ApiError, source: string | undefined): string {
  const where = source === undefined ? "" : line === undefined ? `${source}: ` : `${source}:${line}: `;
  return path === "" ? `${where}${message}` : `${where}${path}: ${message}`;
}

export function fieldError(path: string, message: string): InvalidInput {
  return new InvalidInput([{ path, message }]);
}

export interface CheckedCluster {
  readonly name: string;
  readonly spec: EtcdClusterSpec;
  /** Fields that mean nothing here; shown once and in `status.notApplicable`. */
  readonly notApplicable: readonly string[];
}

/** The stored cluster as the resource it is. */
export function toResource({ name, uid, generation, spec, createdAt, deleting }: StoredCluster): EtcdCluster {
  const creationTimestamp = iso(createdAt);
  return {
    apiVersion: API_VERSION,
    kind: "EtcdCluster",
    metadata: {
      name,
      namespace: "local",
      uid,
      generation,
      creationTimestamp,
      ...(deleting && { deletionTimestamp: creationTimestamp }),
    },
    spec,
  };
}

/** Checks a whole manifest, against what is stored if anything is. */
export function checkManifest(document: unknown, stored: StoredCluster | undefined): CheckedCluster {
  const parsed = parseCluster(document, stored && toResource(stored));
  if (!parsed.ok) throw new InvalidInput(parsed.errors);
  return checkCluster(parsed.cluster, stored);
}

export function checkCluster(cluster: EtcdCluster, stored: StoredCluster | undefined): CheckedCluster {
  const { metadata, spec } = cluster;
  if (stored && stored.name !== metadata.name) {
    throw fieldError(
      "metadata.name",
      `the directory belongs to the cluster ${JSON.stringify(stored.name)}, not ${JSON.stringify(metadata.name)}: use another --dir, or that cluster's name`,
    );
  }
  const foreign = kubernetesOnlyFields(cluster);
  const refused = foreign.filter(({ effect }) => effect === "refuse");
  const errors: ApiError[] = refused.map(({ path }) => ({
    path,
    message: "is not supported on one machine and would change what happens to data: remove it",
  }));
  for (const { field, reason } of unsupportedOptions(spec.options, spec.version)) {
    errors.push({ path: `spec.${field}`, message: reason });
  }
  if (!stored) {
    const step = startStep(spec.version);
    if (step.kind === "refused")
      errors.push({ path: "spec.version", message: `${sentenceOf(step.why)}. ${remedyOf(step.why)}` });
  }
  if (errors.length > 0) throw new InvalidInput(errors);
  return {
    name: metadata.name,
    spec,
    notApplicable: foreign.map(({ path }) => path),
  };
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
