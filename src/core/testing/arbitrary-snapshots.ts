/** Snapshots and schedules of a cluster: mostly none, and now and then one before a minor version, in every phase. */
import fc from "fast-check";
import { SNAPSHOT_PHASES } from "../../api/status-words.ts";
import type { SnapshotFacts, SnapshotState } from "../snapshots/facts.ts";
import { maybe, past, usually } from "./arbitrary-parts.ts";
import { NOW } from "./cluster.ts";
import { scheduleNamed, snapshotNamed } from "./snapshots.ts";

const before: fc.Arbitrary<SnapshotFacts> = fc
  .record({
    minor: fc.constantFrom("3.5", "3.6", "3.7", undefined),
    phase: maybe(fc.constantFrom(...SNAPSHOT_PHASES)),
    at: past,
    uid: usually<string | undefined>(undefined, fc.constant("another")),
    deleting: usually(false, fc.constant(true)),
  })
  .map(({ minor, phase, at, uid, deleting }) =>
    snapshotNamed(`demo-before-${minor}-${NOW - at}`, {
      createdAt: at,
      deleting,
      ...(minor !== undefined && { before: minor }),
      status: {
        ...(phase !== undefined && { phase, message: "So it is." }),
        ...(phase === "Succeeded" && { completedAt: new Date(at).toISOString() }),
        ...(uid !== undefined && { clusterUID: uid }),
      },
    }),
  );

export const arbitrarySnapshots: fc.Arbitrary<SnapshotState | undefined> = maybe(
  fc.record({
    snapshots: fc.array(before, { maxLength: 2 }),
    schedules: fc.constantFrom(
      [scheduleNamed("nightly")],
      [scheduleNamed("nightly")],
      [scheduleNamed("nightly", { spec: { suspend: true } })],
      [scheduleNamed("nightly", { invalid: "unknown field" })],
      [],
    ),
  }),
);
