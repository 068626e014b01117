/** Snapshots for tests: an object as a user makes it, and worlds with a healthy cluster. */
import type { EtcdSnapshotScheduleSpec } from "../../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshotSpec } from "../../api/etcd-snapshot.ts";
import { decideSnapshots, type SnapshotDecision } from "../snapshots/decide.ts";
import type { SnapshotWorld } from "../snapshots/world.ts";
import type { JobFacts, JobState, ScheduleFacts, SnapshotFacts } from "../snapshots/facts.ts";
import { NOW } from "./cluster.ts";

export const ENDPOINT = "https://demo-2.demo:2379";

export function snapshotNamed(
  name: string,
  change: Partial<Omit<SnapshotFacts, "spec">> & { spec?: Partial<EtcdSnapshotSpec> } = {},
): SnapshotFacts {
  const { spec, ...rest } = change;
  return {
    name,
    uid: `${name}-0000-uid`,
    resourceVersion: "1",
    generation: 1,
    createdAt: NOW - 1_000,
    deleting: false,
    held: false,
    status: {},
    jobs: [],
    ...rest,
    spec: { cluster: "demo", destination: { s3: { bucket: "backups" } }, ...spec },
  };
}

/** One that runs, as the first write of its status says. */
export function runningSnapshot(name: string, state?: JobState): SnapshotFacts {
  const asked = snapshotNamed(name);
  const [effect] = decided([asked]).effects;
  if (effect?.kind !== "UpdateSnapshot") throw new Error(`it was not started: ${JSON.stringify(effect)}`);
  return { ...asked, status: effect.status, jobs: state ? [jobOf(effect.status.job ?? "", state)] : [] };
}

export function jobOf(name: string, state: JobState, change: Partial<JobFacts> = {}): JobFacts {
  return { name, uid: `${name}-uid`, task: "save", attempt: 1, deleting: false, state, ...change };
}

export function worldOf(
  snapshots: readonly SnapshotFacts[],
  change: Partial<SnapshotWorld> = {},
): SnapshotWorld {
  const cluster = { is: "present", uid: "cluster-uid", deleting: false, sources: [ENDPOINT] } as const;
  return { now: NOW, cluster, snapshots, ...change };
}

export function decided(
  snapshots: readonly SnapshotFacts[],
  change: Partial<SnapshotWorld> = {},
): SnapshotDecision {
  return decideSnapshots(worldOf(snapshots, change));
}

/** `Running/Started`, `StartJob save 1`, … for each effect. */
export function briefly({ effects }: SnapshotDecision): string[] {
  return effects.map((effect) => {
    if (effect.kind === "UpdateSnapshot") return `${effect.status.phase}/${effect.status.reason}`;
    return effect.kind === "StartJob" ? `StartJob ${effect.task} ${effect.attempt}` : effect.kind;
  });
}

export function scheduleNamed(
  name: string,
  change: Partial<Omit<ScheduleFacts, "spec">> & { spec?: Partial<EtcdSnapshotScheduleSpec> } = {},
): ScheduleFacts {
  const { spec, ...rest } = change;
  return {
    name,
    uid: `${name}-uid`,
    resourceVersion: "1",
    generation: 1,
    createdAt: NOW,
    deleting: false,
    status: {},
    ...rest,
    spec: { cluster: "demo", schedule: "0 * * * *", destination: { s3: { bucket: "backups" } }, ...spec },
  };
}
