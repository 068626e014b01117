/** `quorate local schedule apply|list|delete`: schedules by which the controller takes snapshots. */
import type { EtcdSnapshotSchedule } from "../../api/etcd-snapshot-schedule.ts";
import { objectUsage, runObjectVerb } from "./object-verb.ts";
import { call } from "./session.ts";

const kind = "EtcdSnapshotSchedule";

export const summary = "apply, list or delete schedules of snapshots";
export const usage = objectUsage(
  "schedule",
  kind,
  "While a controller runs, it takes a snapshot at each time of the schedule, deletes what the retention does not\nkeep, and takes one before members move to another minor version. Of the times that passed while none ran, only\nthe last missed one is taken, when a controller runs again.",
);
export const run = runObjectVerb<EtcdSnapshotSchedule>({
  word: "schedule",
  kind,
  apply: async (place, io, manifest) => await call(place, io, "applySnapshot", manifest),
  list: async (place, io) =>
    (await call(place, io, "listSnapshots", kind)) as readonly EtcdSnapshotSchedule[],
  remove: async (place, io, name) => await call(place, io, "deleteSnapshot", { kind, name }),
  columns: ["NAME", "SCHEDULE", "LAST", "NEXT", "KEPT", "MESSAGE"],
  row: ({ metadata, spec, status }) => [
    metadata.name,
    spec.schedule,
    status?.lastSuccessful ?? "",
    status?.next ?? "",
    String(status?.kept ?? ""),
    status?.message ?? "",
  ],
});
