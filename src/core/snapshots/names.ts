/** Names that follow from a snapshot's UID, so that there is never a second one of what they name. */
import type { ScheduleFacts, SnapshotFacts, SnapshotTask } from "./facts.ts";

/** The name of the Job that does a task for a snapshot: readable, and another one for another object of the same name. */
export function jobName(snapshot: Pick<SnapshotFacts, "name" | "uid">, task: SnapshotTask, attempt: number) {
  return workerName(snapshot, task, attempt);
}

/** The name of the Pod, or process, that records changes for a schedule. */
export function followerName(schedule: Pick<ScheduleFacts, "name" | "uid">, attempt: number): string {
  return workerName(schedule, "follow", attempt);
}

function workerName({ name, uid }: { name: string; uid: string }, does: string, attempt: number): string {
  const tail = `-${uid.slice(0, 8)}-${does}${attempt === 1 ? "" : `-${attempt}`}`;
  const head = name.slice(0, 63 - tail.length).replaceAll(".", "-");
  return `${head.replace(/[^a-z0-9]+$/, "")}${tail}`;
}

/** With which the names of its objects in the store begin; no other snapshot's do. */
export function objectID({ name, uid }: Pick<SnapshotFacts, "name" | "uid">): string {
  return `${name.slice(0, 100)}-${uid}`;
}
