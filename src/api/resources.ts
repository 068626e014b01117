/**
 * The resources of the API group: their names, columns and subresources. The resource definitions,
 * the reference pages and the validators are made from this list.
 */
import type { z } from "zod";
import { etcdClusterSchema } from "./etcd-cluster.ts";
import { etcdMemberSchema } from "./etcd-member.ts";
import { etcdOperationSchema } from "./etcd-operation.ts";
import { etcdSnapshotScheduleSchema } from "./etcd-snapshot-schedule.ts";
import { etcdSnapshotSchema } from "./etcd-snapshot.ts";
import { etcdRoleSchema } from "./etcd-role.ts";
import { etcdUserSchema } from "./etcd-user.ts";

export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "date" | "boolean";
  readonly jsonPath: string;
  readonly description?: string;
  /** Above 0: only with `kubectl get -o wide`. */
  readonly priority?: number;
}

export interface Resource {
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  /** One paragraph: what it is for. */
  readonly summary: string;
  readonly schema: z.ZodType;
  readonly columns: readonly Column[];
  readonly scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
  /** A complete example for the reference page. */
  readonly example: string;
}

const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };

const ready = (description: string): Column => ({
  name: "Ready",
  type: "string",
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
  description,
});
const phase = (description: string): Column => ({
  name: "Phase",
  type: "string",
  jsonPath: ".status.phase",
  description,
});
const message: Column = {
  name: "Message",
  type: "string",
  jsonPath: ".status.message",
  description: "The same in one sentence.",
  priority: 1,
};

export const etcdClusters: Resource = {
  kind: "EtcdCluster",
  singular: "etcdcluster",
  plural: "etcdclusters",
  shortNames: ["ec"],
  summary: "An etcd cluster: its size, version and storage, and how Quorate maintains and repairs it.",
  schema: etcdClusterSchema,
  columns: [
    ready("Whether the spec is applied and a quorum serves."),
    phase("What the cluster is doing."),
    {
      name: "Healthy",
      type: "integer",
      jsonPath: ".status.readyReplicas",
      description: "Voting members that are healthy.",
    },
    { name: "Replicas", type: "integer", jsonPath: ".spec.replicas", description: "Voting members wanted." },
    {
      name: "Version",
      type: "string",
      jsonPath: ".status.version.current",
      description: "The etcd version that runs.",
    },
    { name: "Leader", type: "string", jsonPath: ".status.leader" },
    age,
    message,
  ],
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdCluster
metadata:
  name: demo
spec:
  replicas: 3
  version: 3.6.14
  storage:
    size: 20Gi
  options:
    quotaBackendBytes: 8Gi
`,
};

export const etcdMembers: Resource = {
  kind: "EtcdMember",
  singular: "etcdmember",
  plural: "etcdmembers",
  shortNames: ["em"],
  summary:
    "The record of one member. Quorate creates one per member; change the EtcdCluster instead. Deleting an EtcdMember replaces its member as soon as the quorum allows.",
  schema: etcdMemberSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    ready("Whether the member serves."),
    phase("The state of the member."),
    { name: "Role", type: "string", jsonPath: ".status.role" },
    { name: "Version", type: "string", jsonPath: ".spec.template.version" },
    age,
    { name: "ID", type: "string", jsonPath: ".status.memberID", priority: 1 },
    message,
  ],
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdMember
metadata:
  name: demo-1
spec:
  cluster: demo
  ordinal: 1
  role: Voter
  token: 6f0c9a52-6f9d-4a0e-9d3b-0d6e2f6a8f10-1
  boot: New
  address:
    peerURL: https://demo-1.demo-peers.default.svc:2380
    clientURL: https://demo-1.demo-peers.default.svc:2379
    metricsURL: http://demo-1.demo-peers.default.svc:2381
    listenPeerURL: https://0.0.0.0:2380
    listenClientURL: https://0.0.0.0:2379
    listenMetricsURL: http://0.0.0.0:2381
  initialCluster:
    - name: demo-1
      peerURL: https://demo-1.demo-peers.default.svc:2380
  memberID: 8e9e05c52164694d
  volumeUID: 3f1f7c0e-2d5b-4b0e-8f0a-5f6d1c1b9a77
  joined: true
  run: true
  template:
    renderVersion: 1
    version: 3.6.14
`,
};

export const etcdOperations: Resource = {
  kind: "EtcdOperation",
  singular: "etcdoperation",
  plural: "etcdoperations",
  shortNames: ["eo"],
  summary:
    "One task that runs once against one cluster: defragment, compact, move leadership, replace or restart members, collect a report. Operations of a cluster run one at a time, in the order of their creation. Deleting one that is pending cancels it; deleting one that runs stops it after the step under way.",
  schema: etcdOperationSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    {
      name: "Operation",
      type: "string",
      jsonPath: ".status.operation",
      description: "What it does.",
    },
    phase("Whether it waits, runs or has finished."),
    age,
    { name: "Reason", type: "string", jsonPath: ".status.reason", priority: 1 },
    message,
  ],
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdOperation
metadata:
  name: demo-defragment
spec:
  cluster: demo
  defragment: {}
  ttlSecondsAfterFinished: 86400
`,
};

export const etcdSnapshots: Resource = {
  kind: "EtcdSnapshot",
  singular: "etcdsnapshot",
  plural: "etcdsnapshots",
  shortNames: ["es"],
  summary:
    "One snapshot of one cluster, taken once into a store by a Job. Snapshots of a cluster are taken one at a time, in the order of their creation, also while the cluster is paused, degraded or without quorum. An EtcdSnapshot outlives its cluster. Deleting one that is being taken stops it; the object in the store is retained unless deletionPolicy says otherwise.",
  schema: etcdSnapshotSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    phase("Whether it waits, is being taken or is in the store."),
    { name: "Revision", type: "integer", jsonPath: ".status.revision" },
    { name: "Size", type: "integer", jsonPath: ".status.size", description: "In bytes." },
    { name: "Taken", type: "date", jsonPath: ".status.completedAt" },
    { name: "Verified", type: "date", jsonPath: ".status.verifiedAt", priority: 1 },
    age,
    { name: "URI", type: "string", jsonPath: ".status.uri", priority: 1 },
    message,
  ],
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdSnapshot
metadata:
  name: demo-before-migration
spec:
  cluster: demo
  destination:
    s3:
      bucket: backups
      prefix: prod
      credentialsSecret: backup-credentials
`,
};

export const etcdSnapshotSchedules: Resource = {
  kind: "EtcdSnapshotSchedule",
  singular: "etcdsnapshotschedule",
  plural: "etcdsnapshotschedules",
  shortNames: ["ess"],
  summary:
    "Snapshots of one cluster by the clock: an EtcdSnapshot at each time of the schedule, and which of them are kept. The condition BackedUp of the EtcdCluster says whether the newest one is as new as the schedule promises. Deleting a schedule leaves its snapshots alone.",
  schema: etcdSnapshotScheduleSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    { name: "Schedule", type: "string", jsonPath: ".spec.schedule" },
    { name: "Suspend", type: "boolean", jsonPath: ".spec.suspend" },
    {
      name: "Last",
      type: "date",
      jsonPath: ".status.lastSuccessful",
      description: "The newest snapshot that succeeded.",
    },
    { name: "Next", type: "string", jsonPath: ".status.next" },
    { name: "Kept", type: "integer", jsonPath: ".status.kept", description: "Snapshots in the store." },
    {
      name: "Verified",
      type: "date",
      jsonPath: ".status.lastVerified",
      description: "When one was last restored and found right.",
      priority: 1,
    },
    age,
    { name: "Reason", type: "string", jsonPath: ".status.reason", priority: 1 },
    message,
  ],
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdSnapshotSchedule
metadata:
  name: demo-nightly
spec:
  cluster: demo
  schedule: 30 2 * * *
  timeZone: Europe/Berlin
  destination:
    s3:
      bucket: backups
      prefix: prod
      credentialsSecret: backup-credentials
  retention:
    daily: 7
    weekly: 5
    monthly: 12
`,
};

const reason: Column = { name: "Reason", type: "string", jsonPath: ".status.reason" };

export const etcdUsers: Resource = {
  kind: "EtcdUser",
  singular: "etcduser",
  plural: "etcdusers",
  shortNames: ["eu"],
  summary:
    "A user of etcd's authentication in one cluster. It is applied while the cluster has spec.auth.enabled; differences in etcd are corrected within 30 seconds. Deleting it deletes the user in etcd.",
  schema: etcdUserSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    { name: "User", type: "string", jsonPath: ".status.name", description: "Its name in etcd." },
    ready("Whether etcd has the user as described."),
    reason,
    age,
    message,
  ],
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdUser
metadata:
  name: orders
spec:
  cluster: demo
  passwordSecret: orders-etcd
  roles: [orders-writer]
`,
};

export const etcdRoles: Resource = {
  kind: "EtcdRole",
  singular: "etcdrole",
  plural: "etcdroles",
  shortNames: ["er"],
  summary:
    "A role of etcd's authentication in one cluster: the keys that its users may read and write. It is applied while the cluster has spec.auth.enabled; differences in etcd are corrected within 30 seconds. Deleting it deletes the role in etcd, once no EtcdUser and no spec.auth.clientRoles names it.",
  schema: etcdRoleSchema,
  columns: [
    { name: "Cluster", type: "string", jsonPath: ".spec.cluster" },
    { name: "Role", type: "string", jsonPath: ".status.name", description: "Its name in etcd." },
    ready("Whether etcd has the role as described."),
    reason,
    age,
    message,
  ],
  example: `apiVersion: etcd.quorate.dev/v1alpha1
kind: EtcdRole
metadata:
  name: orders-writer
spec:
  cluster: demo
  permissions:
    - access: ReadWrite
      key: orders/
      prefix: true
    - access: Read
      key: config/orders
`,
};

export const resources: readonly Resource[] = [
  etcdClusters,
  etcdMembers,
  etcdOperations,
  etcdSnapshots,
  etcdSnapshotSchedules,
  etcdUsers,
  etcdRoles,
];
