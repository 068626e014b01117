/**
 * An observation after quorum was lost: what was read of directories, nodes that report or are silent, and a recovery that
 * approves, more often than chance would have it, just the plan that there is. Nothing of it need fit together.
 */
import fc from "fast-check";
import { recoveryPlan } from "../assess/recovery-plan.ts";
import type {
  MemberDirectory,
  MemberFacts,
  MemberNode,
  Observation,
  OperationFacts,
  PlatformFacts,
  WorkloadFacts,
} from "../observation.ts";
import { viewOf } from "../view.ts";
import { maybe, mostly, past, seldom, usually } from "./arbitrary-parts.ts";
import { NOW } from "./cluster.ts";

const MINUTE = 60_000;
const NODES = ["node-a", "node-b", "node-c"] as const;
/** When the operation was created: before some of what is heard, and after the rest. */
const CREATED_AT = NOW - 10 * MINUTE;

export const arbitraryNode: fc.Arbitrary<MemberNode> = fc.record({
  name: fc.constantFrom(...NODES),
  kubelet: fc.constant("silent" as const),
  since: usually(NOW - 20 * MINUTE, past, fc.constant(NOW - MINUTE)),
});

const placed: fc.Arbitrary<MemberNode | undefined> = fc.oneof(
  { weight: 4, arbitrary: arbitraryNode },
  {
    weight: 1,
    arbitrary: fc.record({ name: fc.constantFrom(...NODES), kubelet: fc.constant("reports" as const) }),
  },
  { weight: 2, arbitrary: fc.constant(undefined) },
);

const directoryOf = ({ record }: MemberFacts): fc.Arbitrary<MemberDirectory | undefined> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        state: fc.constant("data" as const),
        clusterID: usually("c1", fc.constant("other")),
        memberID: usually(record.memberID ?? "a1", fc.constant("ff")),
        term: fc.integer({ min: 2, max: 4 }),
        index: fc.integer({ min: 90, max: 110 }),
        revision: fc.integer({ min: 70, max: 90 }),
        replay: fc.integer({ min: 0, max: 9 }),
      }),
    },
    { weight: 4, arbitrary: fc.constant({ state: "empty" as const }) },
    { weight: 1, arbitrary: fc.constant({ state: "unreachable" as const, why: "its node is gone" }) },
    { weight: 1, arbitrary: fc.constant({ state: "reading" as const }) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );

/** Told to end: gone where somebody confirms it, and hanging where nobody does. */
function endedAs({ workload }: MemberFacts, node: MemberNode | undefined, overdue: boolean): WorkloadFacts {
  if (node?.kubelet !== "silent") return { state: "absent" };
  if (workload.state === "absent") return workload;
  return { state: "stopping", since: NOW - MINUTE, overdue, lostNode: node.name };
}

function lostMember(facts: MemberFacts, stopped: boolean): fc.Arbitrary<MemberFacts> {
  const asked = fc.record({
    node: placed,
    directory: directoryOf(facts),
    answers: seldom,
    isAsTold: mostly,
    overdue: mostly,
    ready: fc.boolean(),
    alive: usually<boolean | undefined>(undefined, fc.constant(false), fc.constant(true)),
    seenByPeers: usually<boolean | undefined>(undefined, fc.constant(false), fc.constant(true)),
  });
  return asked.map(({ node, directory, answers, isAsTold, overdue, ready, ...heard }) => {
    const { workload } = facts;
    const running = workload.state === "running" && !ready ? { ...workload, ready } : workload;
    const isStopped = stopped && isAsTold;
    return {
      ...facts,
      ...heard,
      ...(node && { node }),
      ...(directory && { directory }),
      record: isStopped ? { ...facts.record, run: false } : facts.record,
      workload: isStopped ? endedAs(facts, node, overdue) : running,
      answer: answers ? facts.answer : { reachable: false, error: "timed out" },
    };
  });
}

interface Approved {
  readonly running: boolean;
  readonly exactly: boolean;
  readonly nodesOff: readonly string[];
  readonly rescued: "this" | "none" | "running";
}

/** Of the plan, as it is for an operation that has begun or not. */
function approving(o: Observation, { running, exactly, nodesOff, rescued }: Approved): Observation {
  const view = viewOf(o);
  const members = o.members.map(({ record: { name } }) => name);
  const asked = exactly ? (recoveryPlan(view)?.nodesOff ?? nodesOff) : nodesOff;
  const plan = recoveryPlan(view, running ? { members, nodesOff: asked } : undefined);
  const approve = plan?.hash ?? "0123456789abcdef";
  const startedAt = new Date(NOW - 2 * MINUTE).toISOString();
  const operation: OperationFacts = {
    name: "recover",
    uid: "uid-of-recover",
    resourceVersion: "1",
    generation: 1,
    createdAt: CREATED_AT,
    deleting: false,
    task: { kind: "recoverQuorum", approve, ...(asked.length > 0 && { nodesOff: [...asked] }) },
    status: running ? { phase: "Running", startedAt, members } : {},
  };
  const platform: PlatformFacts = {
    ...o.platform,
    ...(rescued === "this" && {
      rescued: {
        plan: approve,
        source: { file: { path: "/rescued.db" } },
        sha256: "0".repeat(64),
        revision: 90,
      },
    }),
    ...(rescued === "running" && { rescue: { plan: approve, attempt: 1, state: "running" } }),
  };
  return { ...o, platform, operations: [...o.operations, operation] };
}

export function arbitraryLoss(o: Observation): fc.Arbitrary<Observation> {
  const approval: fc.Arbitrary<Approved> = fc.record({
    running: fc.boolean(),
    exactly: mostly,
    nodesOff: fc.subarray<string>([...NODES]),
    rescued: fc.constantFrom("this", "this", "none", "running"),
  });
  return fc
    .record({ stopped: fc.boolean(), approval: maybe(approval), highest: maybe(fc.constant(95)) })
    .chain(({ stopped, approval: approved, highest }) => {
      const members = o.members.map((facts) => lostMember(facts, stopped));
      return fc.tuple(...members).map((lost) => {
        const { list: _nobody, ...etcd } = o.etcd;
        const down = { ...o, members: lost, etcd: { ...etcd, ...(highest && { highestRevision: highest }) } };
        // Members are stopped for a recovery that runs.
        return approved ? approving(down, { ...approved, running: approved.running || stopped }) : down;
      });
    });
}
