import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { startHash, templateFor } from "../template/template.ts";
import { NOW, answering, change, edit, exited, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { noSpace } from "./no-space.ts";

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
  const reported = change(world, "demo-3", ({ answer }) =>
    answer.reachable ? { answer: { ...answer, dbSizeInUse: 1 * MIB } } : {},
  );
  assert.deepEqual(plan(reported).steps.map(describeStep), [
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
    "disarm NOSPACE",
  ]);
});

test("live data that fills the quota is reported, and looked at again when something was deleted", () => {
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
  // One that still ends, with the quota that it was started with, is waited for, but not for long.
  const ending = change(serving, "demo-3", {
    answer: { reachable: false, error: "no answer" },
    workload: { state: "stopping", since: serving.now, startedFrom: "before" },
  });
  assert.deepEqual(says(noSpace, ending), ["NoSpace"]);
  const late = { ...ending, now: ending.now + 60_000 };
  assert.deepEqual(says(noSpace, late), ["heal: disarm NOSPACE"]);
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

const NAMES = ["demo-1", "demo-2", "demo-3"];

const alarm = (o: Observation, kind: "CORRUPT" | "NOSPACE", memberID = "0"): Observation => ({
  ...o,
  etcd: { ...o.etcd, alarms: [...o.etcd.alarms, { memberID, alarm: kind }] },
});

/** The alarm is armed; quota 100 MiB, room again below 95. */
function noRoom(size: number, used: number, compacted?: { revision: number; at: number }): Observation {
  const world = healthy({ options: { quotaBackendBytes: "100Mi" } });
  const filled = NAMES.reduce(
    (o, name) => answering(o, name, { dbSize: size * MIB, dbSizeInUse: used * MIB, revision: 1000 }),
    world,
  );
  const armed = alarm(filled, "NOSPACE", "a1");
  return { ...armed, etcd: { ...armed.etcd, ...(compacted && { compacted }) } };
}

test("a full database is compacted to its newest revision, and again when ten seconds brought another one", () => {
  assert.deepEqual(says(noSpace, noRoom(100, 50)), ["heal: compact to revision 1000"]);
  const older = (ms: number, revision = 999) => noRoom(100, 98, { revision, at: NOW - ms });
  assert.deepEqual(says(noSpace, older(10_000)), ["heal: compact to revision 1000"]);
  assert.deepEqual(says(noSpace, older(9_999)), ["NoSpace for 1 ms"]);
  assert.deepEqual(
    says(noSpace, older(20_000, 1000)),
    ["NoSpace for 10000 ms"],
    "what has not changed is looked at again, and not at once",
  );
  const one = exited(noRoom(100, 50), "demo-3");
  assert.deepEqual(says(noSpace, one), ["heal: compact to revision 1000"]);
});

test("then each full member gives its pages back once, and the alarm is disarmed when all have room", () => {
  const compacted = { revision: 1000, at: NOW };
  const full = noRoom(95, 50, compacted);
  const done = (o: Observation, ...names: string[]): Observation => ({
    ...o,
    etcd: { ...o.etcd, defragmentedAt: Object.fromEntries(names.map((name) => [name, NOW])) },
  });
  assert.deepEqual(says(noSpace, full), ["heal: defragment demo-2"]);
  assert.deepEqual(says(noSpace, done(full, "demo-2")), ["heal: defragment demo-3"]);
  assert.deepEqual(says(noSpace, done(full, ...NAMES)), ["NoSpace for 10000 ms"]);
  assert.deepEqual(says(noSpace, noRoom(94, 50, compacted)), ["heal: disarm NOSPACE"]);
  assert.deepEqual(says(noSpace, answering(noRoom(94, 50, compacted), "demo-3", { dbSize: 95 * MIB })), [
    "heal: defragment demo-3",
  ]);
  // Live data that leaves no twentieth free is for a person.
  assert.deepEqual(says(noSpace, noRoom(99, 95, compacted)), ["NoSpace for 10000 ms"]);
  assert.deepEqual(says(noSpace, noRoom(99, 94, compacted)), ["heal: defragment demo-2"]);
});
