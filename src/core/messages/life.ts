/** Messages of a cluster's life: created, paused, hibernated, deleted. */
import { step, wait, type Names } from "./message.ts";
import { list } from "./words.ts";

export const LIFE = {
  ClusterFenced: wait("Fenced", {
    say: () => "another controller may be acting on this cluster, so this one changes nothing",
    example: {},
  }),
  ClusterPaused: wait("Paused", {
    say: () => "spec.paused is true: nothing is changed, and broken members stay broken",
    next: () => "Set spec.paused to false.",
    example: {},
  }),
  SpecInvalid: wait("InvalidSpec", {
    say: ({ why }: { why: string }) =>
      `the cluster cannot be understood, and nothing of it is applied: ${why}`,
    next: () => "Correct it; until then the members are kept and healed as they are.",
    example: { why: "spec.replicas: must be between 0 and 9" },
  }),
  MarkUnreadable: wait("MarkUnreadable", {
    say: ({ path, why }: { path: string; why: string }) => `${path} ${why}`,
    next: () => "Put back what it was, or remove the annotation.",
    example: { path: "metadata.annotations[etcd.quorate.dev/life]", why: "is not a number" },
  }),
  ObjectsOfOthers: wait("NameClash", {
    say: ({ objects, cluster }: { objects: Names; cluster: string }) =>
      `${list(objects)} exists and does not belong to ${cluster}; it is not touched`,
    next: () => "Rename or delete the other object, or give this cluster another name.",
    example: { objects: ["Service default/demo-client"], cluster: "demo" },
  }),
  WaitingForStop: wait("Stopping", {
    say: ({ members }: { members: Names }) => `waiting for ${list(members)} to stop`,
    example: { members: ["demo-1", "demo-2"] },
  }),
  ClusterHibernated: wait("Hibernated", {
    say: ({ count }: { count: number }) => `hibernated; the data of ${count} members is kept`,
    next: () => "Set spec.replicas to wake the cluster.",
    example: { count: 3 },
  }),
  Hibernating: step({ say: () => "spec.replicas is 0: hibernate, keeping every copy", example: {} }),
  StoppedToHibernate: step({ say: () => "spec.replicas is 0", example: {} }),
  Woken: step({ say: () => "wake with the recorded version and options", example: {} }),
  ClusterDeleted: step({ say: () => "the cluster is being deleted", example: {} }),
  VolumesDeleted: step({
    say: () => "the cluster is being deleted and storage.retention.onDelete is Delete",
    example: {},
  }),
  NothingLeft: step({
    say: () => "nothing of the cluster is left but what its retention keeps",
    example: {},
  }),
} as const;
