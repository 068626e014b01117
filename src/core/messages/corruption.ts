/** Messages of data that differs, and of comparing it. */
import { step, wait, type Names } from "./message.ts";
import { list, plural } from "./words.ts";

const COMPARE =
  "Compare the members' data, keep the right copy, and restore from it or from a verified snapshot.";

/** Why a suspect's own copy has to be heard. */
type WhyHeard = "others-differ" | "quorum-waits";
const WHY_HEARD: Readonly<Record<WhyHeard, string>> = {
  "others-differ": "the other voters differ from each other",
  "quorum-waits": "without it there is no quorum",
};

export const CORRUPTION = {
  ComparisonDue: step({ say: () => "the periodic comparison of the data of all voters is due", example: {} }),
  ComparedAfterEnd: step({
    say: ({ member }: { member: string }) =>
      `the process of ${member} restarted unexpectedly; comparing its data with the other voters`,
    example: { member: "demo-2" },
  }),
  ComparedUnchecked: step({
    say: ({ member }: { member: string }) =>
      `${member} started without etcd's corruption check; comparing its data now`,
    example: { member: "demo-2" },
  }),
  ComparedForCorruption: step({ say: () => "finding out which member is corrupt", example: {} }),
  ComparedAgain: step({
    say: ({ member }: { member: string }) => `${member} can be compared now`,
    example: { member: "demo-2" },
  }),
  CorruptLearnerReplaced: step({
    say: ({ member }: { member: string }) => `replacing the learner ${member}: etcd found its data corrupt`,
    example: { member: "demo-4" },
  }),
  UncomparedLearnerReplaced: step({
    say: ({ member, suspect }: { member: string; suspect?: string }) =>
      suspect === undefined
        ? `replacing the learner ${member}: etcd reports corrupt data, and all voters have equal data`
        : `replacing the learner ${member}: ${suspect} differs from a peer, and a learner's data cannot be compared`,
    example: { member: "demo-4", suspect: "demo-2" },
  }),
  CorruptMemberReplaced: step({
    say: ({ member }: { member: string }) =>
      `replacing ${member}: its data is corrupt, and the other voters agree with each other`,
    example: { member: "demo-2" },
  }),
  CorruptDisarmed: step({ say: () => "all voters have equal data again", example: {} }),
  StartedUnchecked: step({
    say: ({ member, why }: { member: string; why: WhyHeard }) =>
      `starting ${member} without etcd's corruption check, so that its data can be compared: ${WHY_HEARD[why]}`,
    example: { member: "demo-2", why: "quorum-waits" },
  }),
  SuspectStartedAgain: step({
    say: ({ member, other }: { member: string; other: string }) =>
      `${member} ended because it differed from a peer, and ${other} was removed since: ${member} starts again`,
    example: { member: "demo-2", other: "demo-3" },
  }),
  ComparedOnceMore: wait("Corrupt", {
    say: ({ member }: { member: string }) => `${member} differs from a peer; comparing all voters again`,
    example: { member: "demo-2" },
  }),
  NoMajority: wait("Corrupt", {
    say: () => "the members' data differs, and no majority agrees on one copy",
    next: () => COMPARE,
    example: {},
  }),
  CorruptAwaitsVoters: wait("Corrupt", {
    say: ({ member }: { member: string }) =>
      `${member} is corrupt and will be replaced once enough of the other voters are healthy`,
    example: { member: "demo-2" },
  }),
  NotComparedYet: wait("Corrupt", {
    say: ({ members }: { members: Names }) =>
      `a CORRUPT alarm is raised, and ${list(members)} could not be compared yet`,
    example: { members: ["demo-3"] },
  }),
  SuspectAwaitsOthers: wait("Corrupt", {
    say: ({ member, others }: { member: string; others: Names }) =>
      `${member} differs from a peer; ${list(others)} ${plural(others, "is", "are")} needed to decide which copy is right`,
    example: { member: "demo-2", others: ["demo-3"] },
  }),
  SuspectAwaitsRemoval: wait("Corrupt", {
    say: ({ member, others }: { member: string; others: Names }) =>
      `${member} differs from a peer and starts again after the removal of ${list(others)}`,
    example: { member: "demo-2", others: ["demo-3"] },
  }),
  SuspectUndecided: wait("Corrupt", {
    say: ({ member, why }: { member: string; why: WhyHeard }) =>
      `${member} differs from its peers, and ${WHY_HEARD[why]}`,
    next: () => COMPARE,
    example: { member: "demo-2", why: "others-differ" },
  }),
} as const;
