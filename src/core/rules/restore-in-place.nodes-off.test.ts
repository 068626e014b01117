/** A restore in place while a node is silent: what may run there is awaited, unless its node was said to be off. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { plannedFor, restorePlan } from "../assess/restore-plan.ts";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { assertInvariants } from "../testing/naive-invariants.ts";
import { change, exited, healthy, NOW, record } from "../testing/cluster.ts";
import { asking } from "../testing/operations.ts";
import { viewOf } from "../view.ts";

const MINUTE = 60_000;
const source = { s3: { bucket: "backups", key: "prod/demo.db" } };
const world = healthy();
const planWith = (...nodes: string[]) => restorePlan(plannedFor(viewOf(world), nodes), { source });
const plan = planWith("node-b", "node-c");
const place = { pvc: { claimName: "demo-restore", path: "restore/snapshot.db" } };
const fetched = { plan, source: place, sha256: "a".repeat(64), revision: 4_000, size: 20_000 };
const STARTED = { createdAt: NOW, status: { phase: "Running" as const, steps: [] } };
const STOPPING = {
  createdAt: NOW,
  status: {
    phase: "Running" as const,
    steps: [{ at: new Date(NOW).toISOString(), message: "fetched" }],
  },
};
const SILENT = { kubelet: "silent", since: NOW - 6 * MINUTE } as const;

/** demo-2 and demo-3 are on nodes of which nothing is heard. */
function silent(workload: MemberFacts["workload"] | undefined): Observation {
  const { list: _nobody, ...etcd } = world.etcd;
  const on = (o: Observation, [name, node]: readonly [string, string]) =>
    change(o, name, (facts) => ({
      answer: { reachable: false, error: "timed out" },
      workload: workload ?? facts.workload,
      node: { name: node, ...SILENT },
    }));
  const away: readonly (readonly [string, string])[] = [
    ["demo-2", "node-b"],
    ["demo-3", "node-c"],
  ];
  return away.reduce(on, { ...exited(world, "demo-1"), etcd });
}

const asked = (o: Observation, nodes: readonly string[], approve = planWith(...nodes)) =>
  asking(
    o,
    { kind: "restore", source, approve, ...(nodes.length > 0 && { nodesOff: [...nodes] }) },
    { createdAt: NOW },
  );

function ending(observation: Observation): (string | undefined)[] {
  const { act } = decide(observation);
  if (act) assertInvariants(observation, act.action);
  if (act?.action.kind !== "UpdateOperation") return [act?.action.kind];
  return [act.action.status.phase, act.action.status.reason];
}

test("the nodes are a part of the plan: in whatever order, and none as before there were any", () => {
  assert.equal(planWith("node-c", "node-b"), plan);
  assert.notEqual(planWith("node-b"), plan);
  const { uid, marks, spec } = world.cluster;
  const before = { uid, clusterID: marks.established?.clusterID, version: spec.version };
  assert.equal(planWith(), restorePlan(before, { source }));
});

test("before anything is stopped it is rejected if a silent node is not named, or another one is", () => {
  const down = silent(undefined);
  assert.deepEqual(ending(asked(down, [])), ["Rejected", "NodesDiffer"]);
  assert.deepEqual(ending(asked(down, ["node-b"])), ["Rejected", "NodesDiffer"]);
  assert.deepEqual(ending(asked(down, ["node-b", "node-c", "node-d"])), ["Rejected", "NodesDiffer"]);
  assert.deepEqual(ending(asked(down, ["node-b", "node-c"], "0123456789abcdef")), [
    "Rejected",
    "ApprovalNeeded",
  ]);
  assert.deepEqual(ending(asked(down, ["node-b", "node-c"])), ["Running", "Started"]);
});

/** Everybody was told to stop. */
function stopped(overdue: boolean): Observation {
  const hangs = { state: "stopping", since: NOW, ...(overdue && { overdue }) } as const;
  const names = world.members.map(({ record: { name } }) => name);
  const told = names.reduce((o, name) => record(o, name, { run: false }), silent(hangs));
  const gone = change(told, "demo-1", { workload: { state: "absent" } });
  return { ...gone, platform: { ...gone.platform, fetched } };
}

const task = { kind: "restore", source, approve: plan, nodesOff: ["node-b", "node-c"] } as const;
const both = { ...task, nodesOff: [...task.nodesOff] };

test("what hangs on them counts as stopped once it had its time, and the new life begins", () => {
  assert.deepEqual(ending(asking(stopped(false), both, STOPPING)), [undefined]);
  assert.deepEqual(ending(asking(stopped(true), both, STOPPING)), ["MarkCluster"]);
});

test("a node that is heard from ends it before any data is changed", () => {
  const reporting = (o: Observation) => change(o, "demo-2", { node: { name: "node-b", kubelet: "reports" } });
  assert.deepEqual(ending(reporting(asked(silent(undefined), ["node-b", "node-c"]))), [
    "Rejected",
    "NodeReports",
  ]);
  for (const operation of [STARTED, STOPPING])
    assert.deepEqual(ending(reporting(asking(stopped(true), both, operation))), ["Failed", "NodeReports"]);
});
