/**
 * Good and bad EtcdSnapshotSchedules, for the unit tests and for the tests with a real API server.
 */
import type { EtcdSnapshotSchedule, EtcdSnapshotScheduleSpec } from "./etcd-snapshot-schedule.ts";
import { API_VERSION } from "./metadata.ts";

export interface ScheduleExample {
  readonly title: string;
  readonly name?: string;
  readonly spec: Partial<EtcdSnapshotScheduleSpec>;
  /** Where the refusal is reported; absent for one that is accepted. */
  readonly refusedAt?: string;
}

export function exampleSchedule(
  spec: Partial<EtcdSnapshotScheduleSpec> = {},
  name = "demo-nightly",
): EtcdSnapshotSchedule {
  return {
    apiVersion: API_VERSION,
    kind: "EtcdSnapshotSchedule",
    metadata: { name },
    spec: { cluster: "demo", schedule: "30 2 * * *", destination: { s3: { bucket: "backups" } }, ...spec },
  };
}

export const scheduleExamples: readonly ScheduleExample[] = [
  { title: "every night", spec: {} },
  {
    title: "with everything",
    spec: {
      schedule: "*/15 8-18 1,15 JAN-jun MON",
      timeZone: "America/Argentina/Buenos_Aires",
      retention: { keepLast: 3, hourly: 24, daily: 7, weekly: 5, monthly: 12, yearly: 10 },
      startingDeadlineSeconds: 600,
      suspend: true,
      verify: { schedule: "0 5 * * SUN" },
      incremental: { interval: "10s" },
      compression: "Zstd",
      encryption: { keySecret: "key" },
    },
  },
  { title: "a word for a schedule", spec: { schedule: "@daily" } },
  { title: "changes at the usual interval", spec: { incremental: {} } },
  {
    title: "changes written every moment",
    spec: { incremental: { interval: "100ms" } },
    refusedAt: "spec.incremental.interval",
  },
  {
    title: "changes written every day",
    spec: { incremental: { interval: "24h" } },
    refusedAt: "spec.incremental.interval",
  },
  { title: "four fields", spec: { schedule: "0 3 * *" }, refusedAt: "spec.schedule" },
  {
    title: "a verification by four fields",
    spec: { verify: { schedule: "0 3 * *" } },
    refusedAt: "spec.verify.schedule",
  },
  { title: "a time zone with a blank", spec: { timeZone: "New York" }, refusedAt: "spec.timeZone" },
  {
    title: "a retention that keeps nothing",
    spec: { retention: { keepLast: 0 } },
    refusedAt: "spec.retention",
  },
  {
    title: "a retention of less than nothing",
    spec: { retention: { daily: -1 } },
    refusedAt: "spec.retention.daily",
  },
  {
    title: "a deadline of a second",
    spec: { startingDeadlineSeconds: 1 },
    refusedAt: "spec.startingDeadlineSeconds",
  },
  { title: "a cluster that cannot exist", spec: { cluster: "Demo" }, refusedAt: "spec.cluster" },
  { title: "no store", spec: { destination: {} }, refusedAt: "spec.destination" },
  { title: "a name that leaves no room", name: "x".repeat(53), spec: {}, refusedAt: "metadata.name" },
];
