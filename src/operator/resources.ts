/** The kinds of object that the operator reads and writes. */
import type { Job } from "kubernetes-types/batch/v1.d.ts";
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  ServiceAccount,
} from "kubernetes-types/core/v1.d.ts";
import type { NetworkPolicy } from "kubernetes-types/networking/v1.d.ts";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1.d.ts";
import type { StorageClass } from "kubernetes-types/storage/v1.d.ts";
import type { EtcdCluster } from "../api/etcd-cluster.ts";
import type { EtcdMember } from "../api/etcd-member.ts";
import type { EtcdOperation } from "../api/etcd-operation.ts";
import type { EtcdRole } from "../api/etcd-role.ts";
import type { EtcdUser } from "../api/etcd-user.ts";
import type { EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { API_VERSION } from "../api/metadata.ts";
import { resource } from "../kube/resources.ts";

/** As the API server gives them: nothing of them was checked here yet. */
export const etcdClusters = resource<EtcdCluster>(API_VERSION, "EtcdCluster", "etcdclusters");
export const etcdMembers = resource<EtcdMember>(API_VERSION, "EtcdMember", "etcdmembers");
export const etcdOperations = resource<EtcdOperation>(API_VERSION, "EtcdOperation", "etcdoperations");
export const etcdSnapshots = resource<EtcdSnapshot>(API_VERSION, "EtcdSnapshot", "etcdsnapshots");
export const etcdSnapshotSchedules = resource<EtcdSnapshotSchedule>(
  API_VERSION,
  "EtcdSnapshotSchedule",
  "etcdsnapshotschedules",
);
export const jobs = resource<Job>("batch/v1", "Job", "jobs");
export const serviceAccounts = resource<ServiceAccount>("v1", "ServiceAccount", "serviceaccounts");
export const etcdUsers = resource<EtcdUser>(API_VERSION, "EtcdUser", "etcdusers");
export const etcdRoles = resource<EtcdRole>(API_VERSION, "EtcdRole", "etcdroles");
export const secrets = resource<Secret>("v1", "Secret", "secrets");
export const claims = resource<PersistentVolumeClaim>(
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const volumes = resource<PersistentVolume>("v1", "PersistentVolume", "persistentvolumes", {
  namespaced: false,
});
export const budgets = resource<PodDisruptionBudget>(
  "policy/v1",
  "PodDisruptionBudget",
  "poddisruptionbudgets",
);
export const networkPolicies = resource<NetworkPolicy>(
  "networking.k8s.io/v1",
  "NetworkPolicy",
  "networkpolicies",
);
export const nodes = resource<Node>("v1", "Node", "nodes", { namespaced: false });
export const storageClasses = resource<StorageClass>("storage.k8s.io/v1", "StorageClass", "storageclasses", {
  namespaced: false,
});
