/** PersistentVolumes as the model provisioner makes them, and what can be read from them. */
import { requestOf } from "../kinds/claim.ts";
import { items, json, type Json, type KubeJson } from "../object.ts";

export const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const HOSTNAME = "kubernetes.io/hostname";

/** The node that a volume can only be used on. */
export function nodeOfVolume(volume: KubeJson): string | undefined {
  const { required } = json(json(volume["spec"])["nodeAffinity"]);
  for (const term of items(json(required)["nodeSelectorTerms"]))
    for (const { key, values } of items(term["matchExpressions"]))
      if (key === HOSTNAME) return (values as readonly string[])[0];
  return undefined;
}

/** A volume for a claim; of a class whose parameter `bound` is "node" it stays on the node it was made on. */
export function volumeFor(claim: KubeJson, storageClass: KubeJson): Json {
  const { namespace, name, uid, annotations } = claim.metadata;
  const node = annotations?.[SELECTED_NODE];
  const matchExpressions = [{ key: HOSTNAME, operator: "In", values: [node] }];
  const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
  const bound = json(storageClass["parameters"])["bound"] === "node" && node !== undefined;
  return {
    metadata: { name: `pvc-${uid}` },
    spec: {
      capacity: { storage: requestOf(claim) },
      accessModes: json(claim["spec"])["accessModes"],
      persistentVolumeReclaimPolicy: storageClass["reclaimPolicy"],
      storageClassName: storageClass.metadata.name,
      volumeMode: "Filesystem",
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name, uid },
      csi: { driver: storageClass["provisioner"], volumeHandle: `disk-${uid}` },
      ...(bound && { nodeAffinity }),
    },
    status: { phase: "Bound" },
  };
}

/** The disk behind a volume. */
export function diskOf(volume: KubeJson): string {
  return String(json(json(volume["spec"])["csi"])["volumeHandle"]);
}
