/** Messages of data that differs, and of comparing it. */
import { step, wait, type Names } from "./message.ts";
import { list } from "./words.ts";

const COMPARE =
  "Compare the members' data, keep the right copy, and restore from it or from a verified snapshot.";

/** Why a suspect's own copy has to be heard. */
type WhyHeard = "others-differ" | "quorum-waits";
const WHY_HEARD: Readonly<Record<WhyHeard, string>> = {
  "others-differ": "the others differ from each other",
  "quorum-waits": "quorum waits for it",
};

export const CORRUPTION = {
  ComparisonDue: step({ say: () => "time to compare the data of all voters", example: {} }),
  ComparedAfterEnd: step({
    say: ({ member }: { member: string }) =>
      `${member} had ended and is back: does it still hold the same data?`,
    example: { member: "demo-2" },
  }),
  ComparedUnchecked: step({
    say: ({ member }: { member: string }) => `${member} started without etcd's check`,
    example: { member: "demo-2" },
  }),
  ComparedForCorruption: step({ say: () => "find out which member is corrupt", example: {} }),
  ComparedAgain: step({
    say: ({ member }: { member: string }) => `${member} can be compared now`,
    example: { member: "demo-2" },
  }),
  CorruptLearnerReplaced: step({
    say: ({ member }: { member: string }) => `the learner ${member} is corrupt`,
    example: { member: "demo-4" },
  }),
  CorruptMemberReplaced: step({
    say: ({ member }: { member: string }) => `${member} is corrupt: the other voters agree with each other`,
    example: { member: "demo-2" },
  }),
  CorruptDisarmed: step({ say: () => "all voters hold equal data again", example: {} }),
  StartedUnchecked: step({
    say: ({ member, why }: { member: string; why: WhyHeard }) =>
      `${member} starts without etcd's check, so that its data can be compared: ${WHY_HEARD[why]}`,
    example: { member: "demo-2", why: "quorum-waits" },
  }),
  ComparedOnceMore: wait("Corrupt", {
    say: ({ member }: { member: string }) => `${member} differs from a peer; all are compared once more`,
    example: { member: "demo-2" },
  }),
  NoMajority: wait("Corrupt", {
    say: () => "the data of the members differs and no majority agrees: nobody can tell which copy is right",
    next: () => COMPARE,
    example: {},
  }),
  CorruptAwaitsVoters: wait("Corrupt", {
    say: ({ member }: { member: string }) =>
      `${member} is corrupt and is replaced once enough of the other voters are healthy`,
    example: { member: "demo-2" },
  }),
  NotComparedYet: wait("Corrupt", {
    say: ({ members }: { members: Names }) =>
      `a CORRUPT alarm is armed and ${list(members)} could not be compared yet`,
    example: { members: ["demo-3"] },
  }),
  SuspectAwaitsOthers: wait("Corrupt", {
    say: ({ member, others }: { member: string; others: Names }) =>
      `${member} differs from a peer, and nobody can tell which copy is right before ${list(others)} can be asked`,
    example: { member: "demo-2", others: ["demo-3"] },
  }),
  SuspectUndecided: wait("Corrupt", {
    say: ({ member, why }: { member: string; why: WhyHeard }) =>
      `${member} differs from its peers, and ${WHY_HEARD[why]}`,
    next: () => COMPARE,
    example: { member: "demo-2", why: "others-differ" },
  }),
} as const;
