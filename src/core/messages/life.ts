/** Messages of a cluster's life: created, paused, hibernated, deleted. */
import { step, wait, type Names } from "./message.ts";
import { list, plural } from "./words.ts";

export const LIFE = {
  ClusterFenced: wait("Fenced", {
    say: () => "another controller may be acting on this cluster, so this one changes nothing",
    example: {},
  }),
  ClusterPaused: wait("Paused", {
    say: () => "spec.paused is true, so nothing is changed and failed members are not replaced",
    next: () => "Set spec.paused to false.",
    example: {},
  }),
  SpecInvalid: wait("InvalidSpec", {
    say: ({ why }: { why: string }) =>
      `the spec is invalid (${why}), so none of it is applied; running members are unaffected`,
    next: () => "Correct the spec; failed members are still replaced meanwhile.",
    example: { why: "spec.replicas: must be between 0 and 9" },
  }),
  MarkUnreadable: wait("MarkUnreadable", {
    say: ({ path, why }: { path: string; why: string }) => `${path} ${why}`,
    next: () => "Restore its value, or remove the annotation.",
    example: { path: "metadata.annotations[etcd.quorate.dev/life]", why: "is not a number" },
  }),
  ObjectsOfOthers: wait("NameClash", {
    say: ({ objects, cluster }: { objects: Names; cluster: string }) =>
      `${list(objects)} ${plural(objects, "exists and does", "exist and do")} not belong to ${cluster}, so ${plural(objects, "it is", "they are")} left unchanged`,
    next: () => "Rename or delete the other object, or give this cluster another name.",
    example: { objects: ["Service default/demo-client"], cluster: "demo" },
  }),
  OptionalObjectOfOthers: wait("NameClash", {
    say: ({ object }: { object: string; field: string }) =>
      `${object} exists and belongs to something else, so it is left unchanged, and the cluster works without it`,
    next: ({ field }) => `Set ${field} to false, or rename or delete the other object.`,
    example: { object: "Service default/demo", field: "spec.service.clusterName" },
  }),
  WaitingForStop: wait("Stopping", {
    say: ({ members }: { members: Names }) => `waiting for ${list(members)} to stop`,
    example: { members: ["demo-1", "demo-2"] },
  }),
  ClusterHibernated: wait("Hibernated", {
    say: ({ count }: { count: number }) => `hibernated; the data of ${count} members is retained`,
    next: () => "Set spec.replicas to 1 or more to wake the cluster.",
    example: { count: 3 },
  }),
  Hibernating: step({ say: () => "spec.replicas is 0: hibernating with all data retained", example: {} }),
  StoppedToHibernate: step({ say: () => "spec.replicas is 0", example: {} }),
  Woken: step({
    say: () => "spec.replicas is no longer 0: waking with the recorded version and options",
    example: {},
  }),
  ClusterDeleted: step({ say: () => "the cluster is being deleted", example: {} }),
  VolumesDeleted: step({
    say: () => "the cluster is being deleted and spec.storage.retention.onDelete is Delete",
    example: {},
  }),
  NothingLeft: step({
    say: () => "everything is deleted except what spec.storage.retention retains",
    example: {},
  }),
} as const;
