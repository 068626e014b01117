/**
 * Good and bad specs for the rules about volumes; part of the list in examples.ts.
 */
import type { Change, Example } from "./examples.ts";

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
    title: "an unknown field further down",
    path: "spec.storage.retention.ondelete",
    bad: storage({ retention: { ondelete: "Delete" } }),
    good: storage({ retention: { onDelete: "Delete" } }),
  },
];
