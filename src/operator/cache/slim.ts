/**
 * What the operator keeps of large objects: of each Pod, Node and report only what is looked at. Nodes list every image
 * that they hold, and a Pod's spec is ours anyway; a few hundred of them would be most of our memory.
 */
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type { Node, Pod, Secret } from "kubernetes-types/core/v1.d.ts";
import type { ObjectMeta } from "kubernetes-types/meta/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { EtcdOperation } from "../../api/etcd-operation.ts";
import { GROUP } from "../../api/metadata.ts";
import { CA_FILES, FILES, isTokenKeyFile } from "../render/config.ts";

export function slimPod({ apiVersion, kind, metadata, spec, status }: Pod): Pod {
  const { nodeName, schedulingGates, tolerations, containers = [] } = spec ?? {};
  // observedGeneration is newer than the published types.
  const { phase, reason, message, conditions, podIP, containerStatuses, initContainerStatuses, ...rest } =
    status ?? {};
  const { observedGeneration } = rest as { observedGeneration?: number };
  return {
    ...kindOf(apiVersion, kind),
    ...(metadata && { metadata }),
    spec: {
      ...given({ nodeName, schedulingGates, tolerations }),
      containers: containers.map(({ name, resources }) => ({ name, ...given({ resources }) })),
    },
    status: given({
      phase,
      reason,
      message,
      conditions,
      podIP,
      containerStatuses,
      initContainerStatuses,
      observedGeneration,
    }),
  };
}

/** Its spec is ours. */
export function slimJob({ apiVersion, kind, metadata, status }: Job): Job {
  const { active, conditions, startTime, completionTime } = status ?? {};
  return {
    ...kindOf(apiVersion, kind),
    ...(metadata && { metadata }),
    status: given({ active, conditions, startTime, completionTime }),
  };
}

/** The files that are ever read from a Secret. */
const SECRET_FILES: ReadonlySet<string> = new Set([
  ...Object.values(FILES),
  ...Object.values(CA_FILES),
  "password",
]);
/** As base64; the largest of ours has a few kilobytes. */
const LONGEST_FILE = 128 * 1024;

/**
 * Anybody who may create a Secret can label it as if it were ours. Of one that no object of ours owns, only its name
 * is of interest; of the others, the files that we know, where they have a size that ours could have.
 */
export function slimSecret({ apiVersion, kind, metadata, type, data }: Secret): Secret {
  const isOwned = metadata?.ownerReferences?.some((owner) => owner.apiVersion.startsWith(`${GROUP}/`));
  return {
    ...kindOf(apiVersion, kind),
    ...(metadata && { metadata }),
    ...given({ type }),
    data: isOwned ? knownFiles(data) : {},
  };
}

/** Of the data of a Secret. */
export function knownFiles(data: Secret["data"]): Record<string, string> {
  const files = Object.entries(data ?? {}).filter(
    ([file, text]) => (SECRET_FILES.has(file) || isTokenKeyFile(file)) && text.length <= LONGEST_FILE,
  );
  return Object.fromEntries(files);
}

export function slimNode({ apiVersion, kind, metadata, spec, status }: Node): Node {
  const ready = status?.conditions?.filter(({ type }) => type === "Ready");
  return {
    ...kindOf(apiVersion, kind),
    metadata: identity(metadata),
    spec: given({ taints: spec?.taints }),
    status: given({ conditions: ready }),
  };
}

export function slimClass(object: StorageClass): StorageClass {
  const { apiVersion, kind, metadata, provisioner, volumeBindingMode, allowVolumeExpansion } = object;
  return {
    ...kindOf(apiVersion, kind),
    metadata: identity(metadata),
    provisioner,
    ...given({ volumeBindingMode, allowVolumeExpansion }),
  };
}

/** A report is for people, and large. Status is patched field by field, so that what is not kept stays as it is. */
export function slimOperation(object: EtcdOperation): EtcdOperation {
  if (object.status?.report === undefined) return object;
  const { report: _, ...status } = object.status;
  return { ...object, status };
}

function kindOf<A, K>(apiVersion: A | undefined, kind: K | undefined): { apiVersion?: A; kind?: K } {
  return { ...(apiVersion !== undefined && { apiVersion }), ...(kind !== undefined && { kind }) };
}

function identity(metadata: ObjectMeta | undefined): ObjectMeta {
  const { name, uid, resourceVersion } = metadata ?? {};
  return given({ name, uid, resourceVersion });
}

/** Without what is not there. */
function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
