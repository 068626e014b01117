/**
 * A point in time of a cluster: a revision or a time, as the changes that were recorded beside snapshots reach it. An
 * EtcdSnapshot is built from it; a restore names it together with where the changes are.
 */
import { z } from "zod";
import { clusterIDFormat } from "./adopt.ts";
import { destinationSchema } from "./destination.ts";
import { objectName } from "./labels.ts";
import { timestamp } from "./metadata.ts";
import { withRules, type Rule } from "./rule.ts";
import { int, text } from "./scalars.ts";
import { pattern } from "./stores.ts";

const pointFields = {
  revision: int(1, Number.MAX_SAFE_INTEGER).optional().describe("The state of the cluster at this revision."),
  time: timestamp()
    .optional()
    .describe("The state that had been received by this time, such as 2026-11-17T08:29:00Z."),
  clusterID: withRules(text(16), clusterIDFormat)
    .optional()
    .describe("etcd's ID of the cluster, where the folder has snapshots of several."),
  etcdVersion: withRules(
    text(32),
    pattern("^3[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)$", "must be a version of etcd, such as 3.6.16"),
  )
    .optional()
    .describe(
      "The etcd that changes are replayed with: of the minor version that wrote the snapshot before the point. That of the EtcdCluster if absent.",
    ),
};

interface OnePoint {
  readonly revision?: number | undefined;
  readonly time?: string | undefined;
}

const onePoint: Rule<OnePoint> = {
  cel: "has(self.revision) != has(self.time)",
  message: "set either revision or time",
  check: ({ revision, time }) => (revision === undefined) !== (time === undefined),
};

export const pointSchema = withRules(z.strictObject(pointFields), onePoint);

const restorePointFields = z.strictObject({
  ...pointFields,
  schedule: objectName()
    .optional()
    .describe(
      "Name of the EtcdSnapshotSchedule in the same namespace that recorded the changes: its folder, encryption key and service account are used.",
    ),
  destination: destinationSchema
    .optional()
    .describe("The folder with the snapshots and the recorded changes, if the schedule is gone."),
});

const scheduleOrFolder: Rule<z.output<typeof restorePointFields>> = {
  cel: "has(self.schedule) != has(self.destination)",
  message: "name either schedule (an EtcdSnapshotSchedule) or destination (its folder)",
  check: ({ schedule, destination }) => (schedule === undefined) !== (destination === undefined),
};

/** What a restore says of it. */
export const restorePointSchema = withRules(restorePointFields, onePoint, scheduleOrFolder);

export type Point = z.output<typeof pointSchema>;
export type RestorePoint = z.output<typeof restorePointSchema>;
