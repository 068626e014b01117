/** Messages of members on their way in: added, started, promoted. */
import { FOREIGN_EXAMPLE, removeForeign, sayForeign, type Foreign } from "./foreign.ts";
import { step, wait, type Names } from "./message.ts";
import { list } from "./words.ts";

interface Lagging {
  readonly member: string;
  /** Entries behind the leader; undefined while nobody can tell. */
  readonly behind?: number;
}

export const JOINS = {
  MemberCreated: step({
    say: ({ member, role }: { member: string; role: "Voter" | "Learner" }) =>
      `${member} joins as a ${role === "Voter" ? "voter" : "standing learner"}`,
    example: { member: "demo-4", role: "Voter" },
  }),
  BatchRecorded: step({
    say: () => "several learners are about to join together: etcd 3.5 could not replay that",
    example: {},
  }),
  LearnerAdded: step({
    say: ({ member }: { member: string }) => `${member} joins as a learner`,
    example: { member: "demo-4" },
  }),
  JoinerPermitted: step({
    say: ({ member }: { member: string }) => `etcd knows ${member}: it may start`,
    example: { member: "demo-4" },
  }),
  JoinerListStale: step({
    say: ({ member }: { member: string }) => `the member list changed before ${member} started`,
    example: { member: "demo-4" },
  }),
  JoinerOutdated: step({
    say: ({ member }: { member: string }) => `${member} runs with an old member list`,
    example: { member: "demo-4" },
  }),
  JoinerNudged: step({
    say: ({ member }: { member: string }) => `${member} may wait for an entry of the log before it serves`,
    example: { member: "demo-4" },
  }),
  DowngradeBlocksJoin: step({
    say: ({ members }: { members: Names }) =>
      `${list(members)} can only join while etcd prepares no downgrade`,
    example: { members: ["demo-4"] },
  }),
  JoinerStarting: wait("MemberStarting", {
    say: ({ member }: { member: string }) => `${member} starts and joins`,
    example: { member: "demo-4" },
  }),
  JoinAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ member, down }: { member: string; down: Names }) =>
      `${member} can join once ${list(down)} is healthy or replaced`,
    example: { member: "demo-4", down: ["demo-2"] },
  }),
  JoinBlockedByForeign: wait("ForeignMember", {
    say: ({ member, foreign }: { member: string; foreign: Foreign }) =>
      `${member} cannot join: ${sayForeign(foreign)}`,
    next: ({ foreign }) => removeForeign(foreign),
    example: { member: "demo-4", foreign: { ...FOREIGN_EXAMPLE, isLearner: true } },
  }),
  JoinAwaitsLearner: wait("LearnerBehind", {
    say: ({ member }: { member: string }) => `${member} joins once the present learner votes or has left`,
    example: { member: "demo-4" },
  }),
  NextAwaitsRemoval: wait("Stopping", {
    say: ({ leaving }: { leaving: Names }) => `a newcomer joins once ${list(leaving)} has left`,
    example: { leaving: ["demo-2"] },
  }),
  NextAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ down }: { down: Names }) =>
      `etcd admits nobody while ${list(down)} is down; a newcomer joins once it is healthy or replaced`,
    example: { down: ["demo-2"] },
  }),
  NextAwaitsJoiner: wait("MemberStarting", {
    say: ({ joining }: { joining: Names }) => `the next newcomer waits for ${list(joining)}`,
    example: { joining: ["demo-4"] },
  }),
  LearnerPromoted: step({
    say: ({ member }: { member: string }) => `${member} has caught up`,
    example: { member: "demo-4" },
  }),
  PromotionAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ members, down }: { members: Names; down: Names }) =>
      `${list(members)} can vote once ${list(down)} is healthy or replaced`,
    example: { members: ["demo-4"], down: ["demo-2"] },
  }),
  PromotionAwaitsNode: wait("MemberStarting", {
    say: ({ members }: { members: Names }) =>
      `${list(members)} can vote once its node has picked up the configuration for later restarts`,
    example: { members: ["demo-4"] },
  }),
  LearnersBehind: wait("LearnerBehind", {
    say: ({ learners }: { learners: readonly Lagging[] }) => {
      const behind = learners.map(
        ({ member, behind }) => `${member} (${behind ?? "unknown"} entries behind)`,
      );
      return `waiting for ${behind.join(", ")} to catch up with the leader`;
    },
    example: { learners: [{ member: "demo-4", behind: 12_000 }] },
  }),
} as const;
