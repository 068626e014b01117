/**
 * Where members keep their data, how much of it, and what happens to it afterwards.
 */
import { z } from "zod";
import { adoptDirectories, adoptDirectoriesByID, adoptDurable, adoptIsKept, adoptSchema } from "./adopt.ts";
import { labelSelectorSchema } from "./affinity.ts";
import { objectNameOrNone } from "./labels.ts";
import { quantity, text } from "./scalars.ts";
import { withRules, type Rule } from "./rule.ts";

/** Room for the default quota twice, and for the write-ahead log. */
export const DEFAULT_SIZE = "10Gi";

export const mediumSchema = z.enum(["Persistent", "Memory", "HostPath", "Ephemeral"]);

/** Media whose data ends with the Pod: for these a restart is a loss of data (H4). */
const volatile = (medium: string): boolean => medium === "Memory" || medium === "Ephemeral";

const retentionSchema = z.strictObject({
  onDelete: z
    .enum(["Retain", "Delete"])
    .default("Retain")
    .describe("What happens to the volumes when the EtcdCluster is deleted."),
  onScaleIn: z
    .enum(["Retain", "Delete"])
    .default("Delete")
    .describe(
      "What happens to a member's volume when the cluster is scaled in or the member is replaced. Hibernation retains all volumes.",
    ),
});

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?: readonly unknown[] | undefined;
}

const selectsSomething: Rule<Selector> = {
  cel: "(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
  message: "selector must name at least one label: add matchLabels or matchExpressions, or remove selector",
  check: ({ matchLabels = {}, matchExpressions = [] }) =>
    Object.keys(matchLabels).length + matchExpressions.length > 0,
};

const storageFields = z.strictObject({
  medium: mediumSchema.default("Persistent").meta({
    kubernetesOnly: "refuse",
    description:
      "Persistent: a PersistentVolumeClaim per member. Memory: tmpfs, lost with the Pod. HostPath: a directory on the node, to which the member is then bound. Ephemeral: the node's disk, lost with the Pod. Can be changed on a running cluster: members are replaced one at a time.",
  }),
  size: quantity().default(DEFAULT_SIZE).meta({
    kubernetesOnly: "warn",
    description:
      "Size of each member's volume. It must hold the database, the write-ahead log and a second copy of the database during defragmentation. A larger size expands the volume in place if the storage class supports it; otherwise, and for a smaller size, members are replaced one at a time. On Memory and Ephemeral every other size replaces members; on HostPath the size has no effect.",
  }),
  className: objectNameOrNone().optional().meta({
    kubernetesOnly: "warn",
    description:
      'Storage class of the PersistentVolumeClaims. Defaults to the cluster\'s default class; "" binds existing PersistentVolumes without a class, and none is provisioned. Can be changed: members are replaced one at a time.',
  }),
  // Without defaults of the resource definition, which an operator from before these fields would find and reject.
  accessModes: z
    .array(z.enum(["ReadWriteOnce", "ReadWriteOncePod"]))
    .min(1)
    .max(1)
    .optional()
    .meta({
      kubernetesOnly: "warn",
      "x-kubernetes-list-type": "atomic",
      description:
        "Access mode of the PersistentVolumeClaims. Default: ReadWriteOnce. ReadWriteOncePod lets Kubernetes reject a second Pod on the volume; the CSI driver has to support it. Can be changed: members are replaced one at a time.",
    }),
  selector: withRules(labelSelectorSchema, selectsSomething).optional().meta({
    kubernetesOnly: "warn",
    kubernetesType: "LabelSelector",
    description:
      "Labels of the PersistentVolumes that a claim may bind. Most provisioners reject claims with a selector: use it for volumes that exist. Can be changed: members are replaced one at a time.",
  }),
  volumeMode: z.enum(["Filesystem"]).optional().meta({
    kubernetesOnly: "warn",
    description:
      "Filesystem, the default, is the only mode: etcd keeps its data in files and cannot use a block device.",
  }),
  hostPath: text(4096).optional().meta({
    kubernetesOnly: "refuse",
    description:
      "Directory on the nodes in which each member gets a directory of its own. Only with medium HostPath.",
  }),
  // Without a default, as all later fields.
  adopt: adoptSchema.optional().meta({
    kubernetesOnly: "refuse",
    description:
      "Start from the volumes that a deleted cluster of the same name and namespace left, with their data, instead of as an empty cluster. With medium Persistent, or HostPath with directories. What the volumes hold is read first; if they do not belong together or to a cluster of this name, nothing is started, and the status says why. Read once: it can be set only when the EtcdCluster is created, and not be changed.",
  }),
  retention: retentionSchema.prefault({}).describe("What happens to volumes that are no longer needed."),
});

type StorageFields = z.output<typeof storageFields>;

const hostPathGiven: Rule<StorageFields> = {
  cel: "self.medium != 'HostPath' || has(self.hostPath)",
  fieldPath: ".medium",
  message: "medium HostPath needs hostPath: name an absolute directory on the nodes, like /var/lib/etcd",
  check: (storage) => storage.medium !== "HostPath" || storage.hostPath !== undefined,
};

const hostPathOnly: Rule<StorageFields> = {
  cel: "self.medium == 'HostPath' || !has(self.hostPath)",
  fieldPath: ".hostPath",
  message: "hostPath is used only with medium HostPath: set storage.medium to HostPath or remove hostPath",
  check: (storage) => storage.medium === "HostPath" || storage.hostPath === undefined,
};

const hostPathAbsolute: Rule<StorageFields> = {
  cel: "!has(self.hostPath) || (self.hostPath.startsWith('/') && self.hostPath != '/' && !self.hostPath.contains('..'))",
  fieldPath: ".hostPath",
  message: "hostPath must be an absolute directory below / and without '..', like /var/lib/etcd",
  check: ({ hostPath }) =>
    hostPath === undefined || (hostPath.startsWith("/") && hostPath !== "/" && !hostPath.includes("..")),
};

const classNameOnlyPersistent: Rule<StorageFields> = {
  cel: "self.medium == 'Persistent' || !has(self.className)",
  fieldPath: ".className",
  message:
    "className is used only with medium Persistent: set storage.medium to Persistent or remove className",
  check: (storage) => storage.medium === "Persistent" || storage.className === undefined,
};

const claimFieldsOnlyPersistent: Rule<StorageFields> = {
  cel: "self.medium == 'Persistent' || (!has(self.accessModes) && !has(self.selector) && !has(self.volumeMode))",
  message:
    "accessModes, selector and volumeMode are used only with medium Persistent: set storage.medium to Persistent or remove them",
  check: ({ medium, accessModes, selector, volumeMode }) =>
    medium === "Persistent" || [accessModes, selector, volumeMode].every((field) => field === undefined),
};

export const storageSchema = withRules(
  storageFields,
  hostPathGiven,
  hostPathOnly,
  hostPathAbsolute,
  classNameOnlyPersistent,
  claimFieldsOnlyPersistent,
  adoptDurable,
  adoptDirectories,
  adoptDirectoriesByID,
  adoptIsKept,
);

export type StorageMedium = z.output<typeof mediumSchema>;
export type Storage = z.output<typeof storageSchema>;

/** H4: hibernation stops the Pods, and with these media that would be the end of the data. */
export const noHibernationOfVolatileData: Rule<{ replicas: number; storage: Storage }> = {
  cel: "self.replicas > 0 || !(self.storage.medium in ['Memory', 'Ephemeral'])",
  fieldPath: ".replicas",
  message:
    "replicas 0 (hibernate) would lose all data with storage.medium Memory or Ephemeral: keep at least 1 member, or change the medium to Persistent first",
  check: (spec) => spec.replicas > 0 || !volatile(spec.storage.medium),
};
