/** Operations of every kind and in every phase, of members that may not exist. */
import fc from "fast-check";
import { OPERATION_PHASES } from "../../api/status-words.ts";
import type { OperationFacts } from "../observation.ts";
import type { OperationTask } from "../operations/task.ts";
import { maybe } from "./arbitrary-parts.ts";
import { NOW } from "./cluster.ts";

const member = fc.constantFrom("demo-1", "demo-2", "demo-3", "demo-4", "demo-9");
const members = maybe(fc.uniqueArray(member, { minLength: 1, maxLength: 3 }));

const task: fc.Arbitrary<OperationTask> = fc.oneof(
  members.map((named) => ({ kind: "defragment" as const, ...(named && { members: named }) })),
  members.map((named) => ({ kind: "restart" as const, ...(named && { members: named }) })),
  fc.integer({ min: 1, max: 200 }).map((revision) => ({ kind: "compact" as const, revision })),
  fc.integer({ min: 0, max: 200 }).map((retain) => ({ kind: "compact" as const, retain })),
  maybe(member).map((to) => ({ kind: "moveLeader" as const, ...(to !== undefined && { to }) })),
  member.map((name) => ({ kind: "replaceMember" as const, name })),
  maybe(fc.constant<string[]>(["node-b"])).map((nodesOff) => ({
    kind: "recoverQuorum" as const,
    approve: "0123456789abcdef",
    ...(nodesOff && { nodesOff }),
  })),
  fc.constant({ kind: "restore" as const, source: { file: { path: "/backups/demo.db" } } }),
  fc.constant({ kind: "collectReport" as const }),
  fc.constant({ kind: "unknown" as const }),
);

const operation = (number: number): fc.Arbitrary<OperationFacts> =>
  fc
    .record({
      task,
      deleting: fc.constantFrom(false, false, false, true),
      phase: maybe(fc.constantFrom(...OPERATION_PHASES)),
      settled: fc.array(member, { maxLength: 3 }),
      done: maybe(member),
      revision: fc.integer({ min: 0, max: 200 }),
      completedAt: fc.constantFrom(new Date(NOW - 60_000).toISOString(), "not a time"),
      ttl: maybe(fc.constantFrom(0, 60, 90)),
      failures: maybe(fc.constantFrom({ count: 1, error: "refused" }, { count: 6, error: "refused" })),
    })
    .map(({ task: asked, deleting, phase, settled, done, revision, completedAt, ttl, failures }) => ({
      name: `operation-${number}`,
      uid: `operation-uid-${number}`,
      resourceVersion: "1",
      generation: 1,
      createdAt: number,
      deleting,
      task: asked,
      ...(ttl !== undefined && { ttlSecondsAfterFinished: ttl }),
      ...(failures && { failures }),
      status: {
        ...(phase && { phase, completedAt, members: settled, revision }),
        ...(done !== undefined && { steps: [{ at: completedAt, message: "Done.", member: done }] }),
      },
    }));

export const arbitraryOperations: fc.Arbitrary<readonly OperationFacts[]> = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: operation(1).map((one) => [one]) },
  { weight: 1, arbitrary: fc.tuple(operation(1), operation(2)) },
);
