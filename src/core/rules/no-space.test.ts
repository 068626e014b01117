import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { describeStep, plan } from "../plan/plan.ts";
import { startHash, templateFor } from "../template/template.ts";
import { answering, change, edit, healthy } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";

const MIB = 1024 ** 2;

function full(inUse: number, compacted?: { revision: number; at: number }): Observation {
  const world = healthy({ options: { quotaBackendBytes: "16Mi" } });
  return {
    ...world,
    members: world.members.map((facts) => ({
      ...facts,
      answer: facts.answer.reachable
        ? { ...facts.answer, dbSize: 16 * MIB, dbSizeInUse: inUse, revision: 50 }
        : facts.answer,
    })),
    etcd: { ...world.etcd, compacted, alarms: [{ memberID: "id-of-demo-1", alarm: "NOSPACE" }] },
  };
}

test("the cure: compact, defragment everyone with the leader last, disarm (R27)", () => {
  assert.deepEqual(plan(full(4 * MIB)).steps.map(describeStep), [
    "compact to revision 50",
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
    "disarm NOSPACE",
  ]);
});

test("one member that tells of free pages is enough: the others hold the same data", () => {
  const world = full(15.9 * MIB, { revision: 50, at: 1_750_000_000_000 });
  const told = change(world, "demo-3", ({ answer }) =>
    answer.reachable ? { answer: { ...answer, dbSizeInUse: 1 * MIB } } : {},
  );
  assert.deepEqual(plan(told).steps.map(describeStep), [
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
    "disarm NOSPACE",
  ]);
});

test("live data that fills the quota is told, and looked at again when something was deleted", () => {
  const world = full(15.9 * MIB, { revision: 50, at: 1_750_000_000_000 });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const hold = holds.find(({ reason }) => reason === "NoSpace");
  assert.match(hold?.message ?? "", /live data fills the quota.*16 MiB/);
  assert.match(hold?.next ?? "", /quotaBackendBytes/);
  const later = { ...full(15.9 * MIB, { revision: 40, at: world.now - 60_000 }) };
  assert.equal(decide(later).act?.action.kind, "Compact");
});

test("a cluster that waits for other resources as it runs is cured meanwhile", () => {
  const pod = { resources: { requests: { memory: "3Gi" } } };
  let world = edit(full(4 * MIB, { revision: 50, at: 1_750_000_000_000 }), { pod });
  const template = templateFor(world.cluster.spec, world.cluster.spec.version);
  for (const { record } of world.members)
    world = change(world, record.name, ({ workload }) => ({
      record: { ...record, template },
      workload: workload.state === "running" ? { ...workload, resizable: true } : workload,
    }));
  assert.ok(viewOf(world).members.every(({ resizing, upToDate }) => resizing && !upToDate));
  assert.equal(decide(world).act?.action.kind, "Defragment");
});

test("with spaceCure off nothing is done, and it is said", () => {
  const world = full(4 * MIB);
  const spec = {
    ...world.cluster.spec,
    maintenance: { ...world.cluster.spec.maintenance, spaceCure: false },
  };
  const { act, holds } = decide({ ...world, cluster: { ...world.cluster, spec } });
  assert.equal(act, undefined);
  assert.equal(holds[0]?.reason, "NoSpace");
});

/** All run with 100 MiB, hold 101, and nothing is left to compact; then the spec gives them more. */
function raisedTo(quotaBackendBytes: string, more: object = {}): Observation {
  let world = healthy({ options: { quotaBackendBytes: "100Mi" }, ...more });
  for (const { record } of world.members)
    world = answering(world, record.name, { dbSize: 101 * MIB, dbSizeInUse: 100 * MIB, revision: 50 });
  const alarms = [{ memberID: "id-of-demo-1", alarm: "NOSPACE" as const }];
  world = { ...world, etcd: { ...world.etcd, compacted: { revision: 50, at: world.now }, alarms } };
  return edit(world, { options: { ...world.cluster.spec.options, quotaBackendBytes } });
}

test("a raised quota is rolled out first, be it by much or by little, and only then the alarm is disarmed", () => {
  for (const quota of ["200Mi", "110Mi"]) {
    const world = raisedTo(quota);
    const { act, holds } = decide(world);
    assert.deepEqual([act?.class, act?.action.kind], ["roll", "UpdateMember"], quota);
    assert.match(holds.find(({ reason }) => reason === "NoSpace")?.message ?? "", /new quota of \d+ MiB/);
    const steps = plan(world).steps.map(describeStep);
    const disarmed = steps.indexOf("disarm NOSPACE");
    assert.ok(disarmed > 0, steps.join("; "));
    for (const name of ["demo-1", "demo-2", "demo-3"])
      assert.ok(steps.findLastIndex((step) => step.includes(name)) < disarmed, steps.join("; "));
  }
});

test("where a restart would lose the data, the newcomers that bring the quota may join under the alarm", () => {
  const world = raisedTo("200Mi", { storage: { medium: "Memory", size: "1Gi" } });
  const steps = plan(world).steps.map(describeStep);
  assert.ok(steps.includes("disarm NOSPACE"), steps.join("; "));
});

test("what etcd says of its quota counts, and not what it was last given", () => {
  let world = edit(raisedTo("200Mi"), { options: { quotaBackendBytes: "200Mi" } });
  for (const { record } of world.members) {
    const template = {
      ...record.template,
      options: { ...record.template.options, quotaBackendBytes: "200Mi" },
    };
    world = change(world, record.name, { record: { ...record, template } });
    world = answering(world, record.name, { dbSizeQuota: 100 * MIB });
  }
  assert.notEqual(decide(world).act?.action.kind, "Disarm");
  for (const { record } of world.members) world = answering(world, record.name, { dbSizeQuota: 200 * MIB });
  const serving = { ...world, members: world.members.map((facts) => startedFromRecord(facts)) };
  assert.equal(decide(serving).act?.action.kind, "Disarm");
});

test("an alarm that is back is disarmed again after ten seconds, not seven times a second", () => {
  const world = full(4 * MIB, { revision: 50, at: 1_750_000_000_000 });
  let roomy = world;
  for (const { record } of world.members) roomy = answering(roomy, record.name, { dbSize: 4 * MIB });
  const after = (ms: number) =>
    decide({ ...roomy, etcd: { ...roomy.etcd, disarmedAt: { "id-of-demo-1": roomy.now - ms } } });
  assert.equal(after(9_999).act, undefined);
  assert.equal(after(9_999).lookAgainAt, roomy.now + 1);
  assert.equal(after(10_000).act?.action.kind, "Disarm");
});

function startedFromRecord(facts: MemberFacts): MemberFacts {
  const { workload, record } = facts;
  return workload.state === "running"
    ? { ...facts, workload: { ...workload, startedFrom: startHash(record) } }
    : facts;
}
