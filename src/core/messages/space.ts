/** Messages of the room that data takes: quota, defragmentation, volumes that cannot grow. */
import { step, wait } from "./message.ts";
import { mebibytes } from "./words.ts";

interface Full {
  /** Bytes; undefined while nobody can tell. */
  readonly quota?: number;
}

const FULL: Full = { quota: 2 * 1024 ** 3 };
const MAKE_ROOM = "Delete keys, or raise spec.options.quotaBackendBytes.";

function rejects({ quota }: Full): string {
  return `${quota === undefined ? "" : ` (quota ${mebibytes(quota)})`}; etcd refuses writes`;
}

export const SPACE = {
  Compacted: step({ say: () => "the database is full: drop the old revisions", example: {} }),
  DefragmentedWhenFull: step({
    say: ({ member }: { member: string }) => `${member} gives the freed pages back`,
    example: { member: "demo-2" },
  }),
  NoSpaceDisarmed: step({ say: () => "there is room again", example: {} }),
  FullAgain: wait("NoSpace", {
    say: () => "the database was full again right after the alarm was disarmed",
    example: {},
  }),
  QuotaRollingOut: wait("NoSpace", {
    say: ({ quota }: { quota: number }) =>
      `the database is full and etcd refuses writes until all members run with the new quota of ${mebibytes(quota)}`,
    example: { quota: 4 * 1024 ** 3 },
  }),
  FullAndCureOff: wait("NoSpace", {
    say: (full: Full) => `the database is full and spec.maintenance.spaceCure is off${rejects(full)}`,
    next: () => MAKE_ROOM,
    example: FULL,
  }),
  FullOfLiveData: wait("NoSpace", {
    say: (full: Full) => `live data fills the quota; nothing is left to compact${rejects(full)}`,
    next: () => MAKE_ROOM,
    example: FULL,
  }),
  Defragmented: step({
    say: ({ member }: { member: string }) => `${member} gives free pages back`,
    example: { member: "demo-2" },
  }),
  FragmentedLearnerReplaced: step({
    say: ({ member }: { member: string }) =>
      `${member} has many free pages and cannot be defragmented: another learner takes its place`,
    example: { member: "demo-4" },
  }),
  DefragmentationAwaitsWindow: wait("OutsideWindow", {
    say: ({ member }: { member: string; at: number }) =>
      `${member} is defragmented when the maintenance window opens`,
    volatile: ["at"],
    example: { member: "demo-2", at: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  TooLargeToDefragment: wait("TooLarge", {
    say: ({ member }: { member: string }) =>
      `${member} is not defragmented: with a database far above its quota that would take longer than liveness allows`,
    next: () => "Raise spec.options.quotaBackendBytes to the size of the database.",
    example: { member: "demo-2" },
  }),
  VolumeTooSmall: step({
    say: ({ member, why }: { member: string; why: string }) =>
      `${member} cannot have a larger volume (${why}): a newcomer takes its place`,
    example: { member: "demo-2", why: "its storage class does not allow expansion" },
  }),
} as const;
