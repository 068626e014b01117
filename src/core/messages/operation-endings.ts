/** How operations on members are rejected and end, each with its reason. Those that replace all data: recovery-endings.ts. */
import type { Plane } from "../facts/authority-facts.ts";
import type { Names } from "./message.ts";
import type { OperationReason } from "./operation-reasons.ts";
import { RECOVERY_ENDINGS } from "./recovery-endings.ts";
import { rowsFor, verdictsOf, type Verdict } from "./verdict.ts";
import { list } from "./words.ts";

interface OfMember {
  readonly member: string;
}

const MEMBER: OfMember = { member: "demo-2" };
const row = rowsFor<OperationReason>();

export const OPERATION_ENDINGS = {
  ...RECOVERY_ENDINGS,
  NamesNoTask: row("UnknownOperation", {
    say: () => "the spec names no task that this release knows, or several: name exactly one",
    example: {},
  }),
  TaskUnknown: row("UnknownOperation", {
    say: () => "the task is unknown to this release",
    example: {},
  }),
  StepFailedOften: row("StepFailed", {
    say: ({ times, error }: { times: number; error: string }) => `failed ${times} times in a row: ${error}`,
    example: { times: 6, error: "etcdserver: request timed out" },
  }),
  MemberLeaves: row("UnknownMember", {
    say: ({ member }: OfMember) => `${member} is being removed from this cluster`,
    example: MEMBER,
  }),
  MemberUnknown: row("UnknownMember", {
    say: ({ member, members }: OfMember & { members: Names }) =>
      `${member} is not a member of this cluster; its members are ${list(members) || "none so far"}`,
    example: { member: "demo-9", members: ["demo-1", "demo-2", "demo-3"] },
  }),
  RevisionInFuture: row("RevisionInFuture", {
    say: ({ revision, current }: { revision: number; current: number }) =>
      `revision ${revision} does not exist yet; the current revision is ${current}`,
    example: { revision: 5000, current: 1200 },
  }),
  NothingToCompact: row("NothingToCompact", {
    say: ({ current, retain }: { current: number; retain: number }) =>
      `the current revision is ${current}, and ${retain} revisions are to be retained: nothing is left to compact`,
    example: { current: 1200, retain: 2000 },
  }),
  RevisionCompacted: row("RevisionCompacted", {
    say: ({ revision, oldest }: { revision: number; oldest: number }) =>
      `revision ${revision} has already been compacted: the oldest revision is ${oldest}`,
    example: { revision: 800, oldest: 1000 },
  }),
  Compacted: row("Completed", {
    say: ({ revision }: { revision: number }) => `the history up to revision ${revision} is compacted`,
    example: { revision: 1200 },
  }),
  LearnerNotDefragmented: row("MemberIsLearner", {
    say: ({ member }: OfMember) => `${member} is a learner, which etcd cannot defragment`,
    example: MEMBER,
  }),
  UnhealthyNotDefragmented: row("MemberNotHealthy", {
    say: ({ member }: OfMember) => `${member} is not healthy, so it is not defragmented`,
    example: MEMBER,
  }),
  TooLargeToDefragment: row("DatabaseTooLarge", {
    say: ({ member }: OfMember) =>
      `the database of ${member} is so far above its quota that its defragmentation would outlast the liveness probe`,
    example: MEMBER,
  }),
  Defragmented: row("Completed", {
    say: ({ count }: { count: number }) => defragmented(count),
    example: { count: 3 },
  }),
  DefragmentedBut: row("Incomplete", {
    say: ({ count, skipped }: { count: number; skipped: Names }) =>
      `${defragmented(count)}, and not ${list(skipped)}`,
    example: { count: 2, skipped: ["demo-2"] },
  }),
  NoOtherVoter: row("NoOtherVoter", {
    say: () => "no other voting member is healthy, so leadership stays where it is",
    example: {},
  }),
  LearnerCannotLead: row("MemberIsLearner", {
    say: ({ member }: OfMember) => `${member} is a learner, which cannot lead`,
    example: MEMBER,
  }),
  UnhealthyCannotLead: row("MemberNotHealthy", {
    say: ({ member }: OfMember) => `${member} is not healthy, so it cannot lead`,
    example: MEMBER,
  }),
  FencedDoesNotLead: row("MemberFenced", {
    say: ({ member }: OfMember) => `${member} is fenced, so it does not lead: unfence it first`,
    example: MEMBER,
  }),
  AlreadyLeads: row("AlreadyLeader", {
    say: ({ member }: OfMember) => `${member} already leads`,
    example: MEMBER,
  }),
  NextLeaderLeft: row("Incomplete", {
    say: ({ member }: OfMember) => `${member} is no longer a member`,
    example: MEMBER,
  }),
  Leads: row("Completed", { say: ({ member }: OfMember) => `${member} leads`, example: MEMBER }),
  RemovalUnknown: row("MemberNotHealthy", {
    say: ({ member }: OfMember) =>
      `${member} serves, but cannot be reached from here, so whether its removal is safe is unknown`,
    example: MEMBER,
  }),
  RemovalCostsQuorum: row("WouldLoseQuorum", {
    say: ({ member }: OfMember) =>
      `${member} is broken and has to be removed before a new member joins, and too few other voters are healthy for that`,
    example: MEMBER,
  }),
  Replaced: row("Completed", {
    say: ({ member }: OfMember) => `${member} was replaced by a new member`,
    example: MEMBER,
  }),
  RestartUnknown: row("MemberNotHealthy", {
    say: ({ member }: OfMember) =>
      `${member} serves, but cannot be reached from here, so whether its restart is safe is unknown`,
    example: MEMBER,
  }),
  RestartCostsQuorum: row("WouldLoseQuorum", {
    say: ({ member, healthy, voters }: OfMember & { healthy: number; voters: number }) =>
      `without ${member} only ${healthy} of ${voters} voters would be healthy`,
    example: { ...MEMBER, healthy: 1, voters: 3 },
  }),
  Restarted: row("Completed", {
    say: ({ members, replaced }: { members: Names; replaced: boolean }) =>
      `${replaced ? "restarted or replaced" : "restarted"} ${list(members)}`,
    example: { members: ["demo-2", "demo-3", "demo-1"], replaced: false },
  }),
  NoneIssued: row("NoManagedTLS", {
    say: () => "no plane of this cluster has certificates that Quorate issues",
    example: {},
  }),
  AnotherAuthority: row("NoManagedTLS", {
    say: ({ plane }: { plane: Plane }) =>
      `spec.tls asks for another ${plane} CA, so its successor is dropped`,
    example: { plane: "client" },
  }),
  AuthoritiesRotated: row("Completed", {
    say: ({ planes }: { planes: readonly Plane[] }) => `rotated the ${planes.join(" and the ")} CA`,
    example: { planes: ["client", "peer"] },
  }),
  CertificatesReissued: row("Completed", {
    say: ({ members }: { members: Names }) =>
      `reissued the certificates of ${list(members)} and of all clients`,
    example: { members: ["demo-1", "demo-2", "demo-3"] },
  }),
  TokensNotSigned: row("NoTokenKey", {
    say: () => "spec.auth.token.type of this cluster is not JWT, so auth tokens are not signed",
    example: {},
  }),
  TokenKeyReplaced: row("Completed", {
    say: ({ number }: { number: number }) => `all members sign auth tokens with key ${number}`,
    example: { number: 2 },
  }),
} as const;

function defragmented(count: number): string {
  return `${count} ${count === 1 ? "member is" : "members are"} defragmented`;
}

export const ending = verdictsOf(OPERATION_ENDINGS);

export type Ending = Verdict<OperationReason>;
