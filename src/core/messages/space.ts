/** Messages of the room that data takes: quota, defragmentation, volumes that cannot grow. */
import { step, wait } from "./message.ts";
import { dateTime, mebibytes } from "./words.ts";

interface Full {
  /** Bytes; undefined while nobody can tell. */
  readonly quota?: number;
}

const FULL: Full = { quota: 2 * 1024 ** 3 };
const MAKE_ROOM = "Delete keys, or raise spec.options.quotaBackendBytes.";

function rejects({ quota }: Full): string {
  return `${quota === undefined ? "" : ` (quota ${mebibytes(quota)})`}; etcd rejects writes`;
}

export const SPACE = {
  Compacted: step({ say: () => "the database is full: compacting old revisions", example: {} }),
  DefragmentedWhenFull: step({
    say: ({ member }: { member: string }) => `defragmenting ${member} to free what was compacted`,
    example: { member: "demo-2" },
  }),
  NoSpaceDisarmed: step({ say: () => "the database is below its quota again", example: {} }),
  FullAgain: wait("NoSpace", {
    say: () => "the database was full again right after the NOSPACE alarm was disarmed; retrying within 10 s",
    example: {},
  }),
  QuotaRollingOut: wait("NoSpace", {
    say: ({ quota }: { quota: number }) =>
      `the database is full, and etcd rejects writes until all members run with the new quota of ${mebibytes(quota)}`,
    example: { quota: 4 * 1024 ** 3 },
  }),
  FullAndCureOff: wait("NoSpace", {
    say: (full: Full) => `the database is full and spec.maintenance.spaceCure is off${rejects(full)}`,
    next: () => `${MAKE_ROOM} Then disarm the alarm, or turn spec.maintenance.spaceCure on.`,
    example: FULL,
  }),
  FullOfLiveData: wait("NoSpace", {
    say: (full: Full) => `live data fills the quota and nothing is left to compact${rejects(full)}`,
    next: () => MAKE_ROOM,
    example: FULL,
  }),
  Defragmented: step({
    say: ({ member }: { member: string }) => `defragmenting ${member} to free unused pages`,
    example: { member: "demo-2" },
  }),
  FragmentedLearnerReplaced: step({
    say: ({ member }: { member: string }) =>
      `replacing the learner ${member}: it has many unused pages, and etcd cannot defragment learners`,
    example: { member: "demo-4" },
  }),
  DefragmentationAwaitsWindow: wait("OutsideWindow", {
    say: ({ member, at }: { member: string; at: number }) =>
      `${member} will be defragmented when the maintenance window opens at ${dateTime(at)}`,
    volatile: ["at"],
    example: { member: "demo-2", at: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  TooLargeToDefragment: wait("TooLarge", {
    say: ({ member }: { member: string }) =>
      `not defragmenting ${member}: its database is so far above its quota that this would outlast the liveness probe`,
    next: () => "Raise spec.options.quotaBackendBytes to the size of the database.",
    example: { member: "demo-2" },
  }),
  VolumeTooSmall: step({
    say: ({ member, why }: { member: string; why: string }) =>
      `replacing ${member} by a new member: its volume cannot grow (${why})`,
    example: { member: "demo-2", why: "its storage class does not allow expansion" },
  }),
} as const;
