/** Messages of members on their way in: added, started, promoted. */
import { FOREIGN_EXAMPLE, removeForeign, sayForeign, type Foreign } from "./foreign.ts";
import { step, wait, type Names } from "./message.ts";
import { list, plural, roughly } from "./words.ts";

interface Lagging {
  readonly member: string;
  /** Entries behind the leader; undefined while nobody can tell. */
  readonly behind?: number;
}

/** Roughly: a status that followed each entry would be written all the time. */
function sayLag({ member, behind }: Lagging): string {
  return `${member} (${behind === undefined ? "lag unknown" : `about ${roughly(behind)} entries behind`})`;
}

export const JOINS = {
  MemberCreated: step({
    say: ({ member, role }: { member: string; role: "Voter" | "Learner" }) =>
      `${member} joins as a ${role === "Voter" ? "voter" : "permanent learner"}`,
    example: { member: "demo-4", role: "Voter" },
  }),
  BatchRecorded: step({
    say: () => "several learners are about to join together, which rules out a downgrade to etcd 3.5 later",
    example: {},
  }),
  LearnerAdded: step({
    say: ({ member }: { member: string }) => `adding ${member} as a learner`,
    example: { member: "demo-4" },
  }),
  JoinerPermitted: step({
    say: ({ member }: { member: string }) => `etcd lists ${member}, so it may start`,
    example: { member: "demo-4" },
  }),
  JoinerListStale: step({
    say: ({ member }: { member: string }) => `the member list changed before ${member} started`,
    example: { member: "demo-4" },
  }),
  JoinerOutdated: step({
    say: ({ member }: { member: string }) => `${member} was started with an outdated member list`,
    example: { member: "demo-4" },
  }),
  JoinerNudged: step({
    say: ({ member }: { member: string }) => `${member} may be waiting for a log entry before it serves`,
    example: { member: "demo-4" },
  }),
  DowngradeBlocksJoin: step({
    say: ({ members }: { members: Names }) =>
      `etcd rejects new members while it prepares a downgrade, and ${list(members)} ${plural(members, "is", "are")} joining`,
    example: { members: ["demo-4"] },
  }),
  JoinerStarting: wait("MemberStarting", {
    say: ({ member }: { member: string }) => `waiting for ${member} to start and join`,
    example: { member: "demo-4" },
  }),
  JoinAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ member, down }: { member: string; down: Names }) =>
      `etcd rejects new members while ${list(down)} ${plural(down, "is", "are")} down; ${member} joins once ${plural(down, "it is", "they are")} healthy or replaced`,
    example: { member: "demo-4", down: ["demo-2"] },
  }),
  JoinBlockedByForeign: wait("ForeignMember", {
    say: ({ member, foreign }: { member: string; foreign: Foreign }) =>
      `${member} cannot join: ${sayForeign(foreign)}`,
    next: ({ foreign }) => removeForeign(foreign),
    example: { member: "demo-4", foreign: { ...FOREIGN_EXAMPLE, isLearner: true } },
  }),
  JoinAwaitsLearner: wait("LearnerBehind", {
    say: ({ member }: { member: string }) =>
      `etcd has no room for another learner; ${member} joins once the current one is promoted or removed`,
    example: { member: "demo-4" },
  }),
  NextAwaitsRemoval: wait("Stopping", {
    say: ({ leaving }: { leaving: Names }) =>
      `waiting for ${list(leaving)} to leave before adding the next member`,
    example: { leaving: ["demo-2"] },
  }),
  NextAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ down }: { down: Names }) =>
      `etcd rejects new members while ${list(down)} ${plural(down, "is", "are")} down; the next member is added once ${plural(down, "it is", "they are")} healthy or replaced`,
    example: { down: ["demo-2"] },
  }),
  NextAwaitsJoiner: wait("MemberStarting", {
    say: ({ joining }: { joining: Names }) =>
      `waiting for ${list(joining)} to join before adding the next member`,
    example: { joining: ["demo-4"] },
  }),
  LearnerPromoted: step({
    say: ({ member }: { member: string }) => `${member} has caught up with the leader`,
    example: { member: "demo-4" },
  }),
  PromotionAwaitsVoters: wait("MemberUnhealthy", {
    say: ({ members, down, unrecorded }: { members: Names; down: Names; unrecorded: Names }) => {
      const awaited = [
        down.length > 0 && `${list(down)} ${plural(down, "is", "are")} healthy or replaced`,
        unrecorded.length > 0 &&
          `the record of ${list(unrecorded)} is found, or etcd no longer lists ${plural(unrecorded, "it", "them")}`,
      ].filter((one) => one !== false);
      return `${list(members)} can be promoted once ${awaited.join(", and ") || "enough voters are healthy"}`;
    },
    example: { members: ["demo-4"], down: ["demo-2"], unrecorded: ["demo-3"] },
  }),
  PromotionAwaitsNode: wait("MemberStarting", {
    say: ({ members }: { members: Names }) =>
      `${list(members)} can be promoted once ${plural(members, "its node has", "their nodes have")} synced the configuration for later restarts`,
    example: { members: ["demo-4"] },
  }),
  LearnersBehind: wait("LearnerBehind", {
    say: ({ learners }: { learners: readonly Lagging[] }) =>
      `waiting for ${learners.map(sayLag).join(", ")} to catch up with the leader`,
    example: { learners: [{ member: "demo-4", behind: 12_000 }] },
  }),
} as const;
