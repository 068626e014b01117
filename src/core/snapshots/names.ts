/** Names that follow from a snapshot's UID, so that there is never a second one of what they name. */
import type { SnapshotFacts, SnapshotTask } from "./facts.ts";

/** The name of the Job that does a task for a snapshot: readable, and another one for another object of the same name. */
export function jobName(snapshot: Pick<SnapshotFacts, "name" | "uid">, task: SnapshotTask, attempt: number) {
  const tail = `-${snapshot.uid.slice(0, 8)}-${task}${attempt === 1 ? "" : `-${attempt}`}`;
  const head = snapshot.name.slice(0, 63 - tail.length).replaceAll(".", "-");
  return `${head.replace(/[^a-z0-9]+$/, "")}${tail}`;
}

/** With which the names of its objects in the store begin; no other snapshot's do. */
export function objectID({ name, uid }: Pick<SnapshotFacts, "name" | "uid">): string {
  return `${name.slice(0, 100)}-${uid}`;
}
