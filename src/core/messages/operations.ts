/** Messages of operations: tasks that a person asked for once. */
import { step, wait, type Names } from "./message.ts";
import { dateTime, list } from "./words.ts";

interface Named {
  readonly operation: string;
}
interface WithMember extends Named {
  readonly member: string;
}

const NAMED: Named = { operation: "tidy-up" };
const WITH_MEMBER: WithMember = { operation: "tidy-up", member: "demo-2" };

export const OPERATIONS_TOLD = {
  OperationStarted: step({
    say: ({ operation, task }: Named & { task: string }) => `starting operation ${operation} (${task})`,
    example: { ...NAMED, task: "defragment demo-2, demo-3, demo-1" },
  }),
  OperationNoted: step({
    say: ({ operation, done }: Named & { done: string }) => `operation ${operation}: ${done}`,
    example: { ...NAMED, done: "defragmented demo-2" },
  }),
  OperationFinished: step({
    say: ({ operation, outcome }: Named & { outcome: string }) => `operation ${operation} ended: ${outcome}`,
    example: { ...NAMED, outcome: "defragmented 3 members" },
  }),
  OperationRejected: step({
    say: ({ operation, why }: Named & { why: string }) => `rejecting operation ${operation}: ${why}`,
    example: { ...NAMED, why: "demo-9 is not a member of this cluster" },
  }),
  OperationExpired: step({
    say: ({ operation }: Named) => `deleting operation ${operation}: its ttlSecondsAfterFinished has passed`,
    example: NAMED,
  }),
  OperationDefragments: step({
    say: ({ operation, member }: WithMember) => `defragmenting ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationCompacts: step({
    say: ({ operation, revision }: Named & { revision: number }) =>
      `compacting up to revision ${revision} for operation ${operation}`,
    example: { ...NAMED, revision: 1200 },
  }),
  OperationMovesLeader: step({
    say: ({ operation, member }: WithMember) =>
      `transferring leadership to ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationReplaces: step({
    say: ({ operation, member }: WithMember) => `replacing ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationRestarts: step({
    say: ({ operation, member }: WithMember) => `restarting ${member} for operation ${operation}`,
    example: WITH_MEMBER,
  }),
  OperationUnderWay: wait("OperationRunning", {
    say: ({ operation }: Named) => `operation ${operation} is running; rollouts and maintenance wait for it`,
    example: NAMED,
  }),
  OperationAwaitsMembers: wait("OperationRunning", {
    say: ({ operation, members }: Named & { members: Names }) =>
      `operation ${operation} waits for ${list(members)} to be healthy`,
    example: { ...NAMED, members: ["demo-3"] },
  }),
  OperationAwaitsRestart: wait("OperationRunning", {
    say: ({ operation, member }: WithMember) =>
      `operation ${operation} waits for ${member} to be healthy after its restart`,
    example: WITH_MEMBER,
  }),
  OperationAwaitsReplacement: wait("OperationRunning", {
    say: ({ operation, member }: WithMember) =>
      `operation ${operation} waits for ${member} to be replaced by a new member`,
    example: WITH_MEMBER,
  }),
  OperationExpires: wait("OperationFinished", {
    say: ({ operation, at }: Named & { at: number }) =>
      `operation ${operation} has finished and will be deleted at ${dateTime(at)}`,
    volatile: ["at"],
    example: { ...NAMED, at: Date.UTC(2026, 0, 2, 2, 30) },
  }),
  OperationUnrecorded: wait("OperationUnrecorded", {
    say: ({ operation, error, at }: Named & { error: string; at: number }) =>
      `operation ${operation} is not carried out, since its status cannot be written (${error}); the next try is at ${dateTime(at)}`,
    volatile: ["at"],
    example: {
      ...NAMED,
      error: "etcdoperations.etcd.quorate.dev is forbidden",
      at: Date.UTC(2026, 0, 2, 2, 30),
    },
  }),
} as const;
