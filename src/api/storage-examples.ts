/**
 * Good and bad specs for the rules about volumes; part of the list in examples.ts.
 */
import type { Change, Example } from "./example.ts";

const spec = (fields: Record<string, unknown>): Change => ({ spec: fields });
const storage = (fields: Record<string, unknown>): Change => spec({ storage: fields });

export const storageExamples: readonly Example[] = [
  {
    title: "medium HostPath without a path",
    path: "spec.storage.medium",
    bad: storage({ medium: "HostPath" }),
    good: storage({ medium: "HostPath", hostPath: "/var/lib/etcd" }),
  },
  {
    title: "a host path that is not used",
    path: "spec.storage.hostPath",
    bad: storage({ hostPath: "/var/lib/etcd" }),
    good: storage({ medium: "HostPath", hostPath: "/var/lib/etcd" }),
  },
  {
    title: "a relative host path",
    path: "spec.storage.hostPath",
    bad: storage({ medium: "HostPath", hostPath: "data" }),
  },
  {
    title: "the root as host path",
    path: "spec.storage.hostPath",
    bad: storage({ medium: "HostPath", hostPath: "/" }),
  },
  {
    title: "a host path that climbs",
    path: "spec.storage.hostPath",
    bad: storage({ medium: "HostPath", hostPath: "/data/../etc" }),
  },
  {
    title: "a storage class for memory",
    path: "spec.storage.className",
    bad: storage({ medium: "Memory", className: "fast" }),
    good: storage({ className: "fast" }),
  },
  {
    title: "a storage class that none can be called",
    path: "spec.storage.className",
    bad: storage({ className: "Fast" }),
    good: storage({ className: "" }),
  },
  {
    title: "an access mode for memory",
    path: "spec.storage",
    bad: storage({ medium: "Memory", accessModes: ["ReadWriteOncePod"] }),
    good: storage({ accessModes: ["ReadWriteOncePod"] }),
  },
  {
    title: "a selector of any volume",
    path: "spec.storage.selector",
    bad: storage({ className: "", selector: { matchLabels: {} } }),
    good: storage({ className: "", selector: { matchLabels: { disk: "etcd" } } }),
  },
  {
    title: "a size that is no quantity",
    path: "spec.storage.size",
    bad: storage({ size: "10 GB" }),
    good: storage({ size: "10G" }),
  },
  {
    title: "a size of zero",
    path: "spec.storage.size",
    bad: storage({ size: 0 }),
    good: storage({ size: 4_294_967_296 }),
  },
  {
    title: "volumes to adopt by two names",
    path: "spec.storage.adopt",
    bad: storage({ adopt: { clusterID: "4a5d1c3e0f9b2d61", token: "0b5e7d4c-1" } }),
    good: storage({ adopt: { token: "0b5e7d4c-1" } }),
  },
  {
    title: "volumes to adopt by no name",
    path: "spec.storage.adopt",
    bad: storage({ adopt: {} }),
    good: storage({ adopt: { clusterID: "4a5d1c3e0f9b2d61" } }),
  },
  {
    title: "a cluster ID that etcd does not print",
    path: "spec.storage.adopt.clusterID",
    bad: storage({ adopt: { clusterID: "0x4A5D" } }),
    good: storage({ adopt: { clusterID: "4a5d" } }),
  },
  {
    title: "volumes to adopt for members in memory",
    path: "spec.storage.adopt",
    bad: storage({ medium: "Memory", adopt: { clusterID: "4a5d" } }),
    good: storage({ adopt: { clusterID: "4a5d" } }),
  },
  {
    title: "directories to adopt that do not match any member",
    path: "spec.storage.adopt",
    bad: storage({ medium: "HostPath", hostPath: "/data", adopt: { clusterID: "4a5d" } }),
    good: storage({
      medium: "HostPath",
      hostPath: "/data",
      adopt: { clusterID: "4a5d", directories: [{ node: "node-a", path: "demo.5c7e/demo-1.0f4a" }] },
    }),
  },
  {
    title: "directories to adopt by a token",
    path: "spec.storage.adopt",
    bad: storage({
      medium: "HostPath",
      hostPath: "/data",
      adopt: { token: "5c7e-1", directories: [{ node: "node-a", path: "demo.5c7e/demo-1.0f4a" }] },
    }),
  },
  {
    title: "a directory to adopt elsewhere on its node",
    path: "spec.storage.adopt.directories[0].path",
    bad: storage({
      medium: "HostPath",
      hostPath: "/data",
      adopt: { clusterID: "4a5d", directories: [{ node: "node-a", path: "../../etc" }] },
    }),
  },
  {
    title: "volumes to adopt when the cluster exists",
    path: "spec.storage.adopt",
    old: {},
    bad: storage({ adopt: { clusterID: "4a5d" } }),
  },
  {
    title: "other volumes to adopt",
    path: "spec.storage.adopt",
    old: storage({ adopt: { clusterID: "4a5d" } }),
    bad: storage({ adopt: { clusterID: "4a5e" } }),
    good: storage({ adopt: { clusterID: "4a5d" } }),
  },
  {
    title: "volumes to adopt and a snapshot to restore",
    path: "spec.bootstrap",
    bad: spec({
      storage: { adopt: { clusterID: "4a5d" } },
      bootstrap: { restore: { source: { file: { path: "/backups/demo.db" } } } },
    }),
    good: storage({ adopt: { clusterID: "4a5d" } }),
  },
  {
    title: "an unknown field further down",
    path: "spec.storage.retention.ondelete",
    bad: storage({ retention: { ondelete: "Delete" } }),
    good: storage({ retention: { onDelete: "Delete" } }),
  },
];
