import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "./plan.ts";
import { predict } from "./predict.ts";
import { asked, edit, exited, healthy, run } from "../testing/cluster.ts";

function steps(observation: Observation): string[] {
  return plan(observation).steps.map(describeStep);
}

test("creating three: all records, all permits, then the latches", () => {
  assert.deepEqual(steps(asked()), [
    "create member demo-1",
    "create member demo-2",
    "create member demo-3",
    "permit-start demo-1",
    "permit-start demo-2",
    "permit-start demo-3",
    "mark establish",
    "latch-joined demo-1",
    "latch-joined demo-2",
    "latch-joined demo-3",
  ]);
});

test("growing by two on 3.6: the second is added when the first serves, before it votes (H7, R19)", () => {
  assert.deepEqual(steps(edit(healthy(), { replicas: 5 })), [
    "create member demo-4",
    "mark remember-batch",
    "create member demo-5",
    "add learner demo-4",
    "permit-start demo-4",
    "latch-joined demo-4",
    "add learner demo-5",
    "permit-start demo-5",
    "latch-joined demo-5",
    "promote demo-4",
    "promote demo-5",
  ]);
});

test("growing by two on 3.5: one after the other (R17)", () => {
  const got = steps(edit(healthy({ version: "3.5.35" }), { replicas: 5 }));
  assert.ok(got.indexOf("promote demo-4") < got.indexOf("create member demo-5"));
  assert.ok(!got.includes("mark remember-batch"));
});

test("shrinking removes from etcd before anything of the member is deleted", () => {
  const got = steps(edit(healthy(), { replicas: 1 }));
  for (const member of ["demo-3", "demo-2"]) {
    const at = (step: string) => got.indexOf(`${step} ${member}`);
    assert.ok(at("leave") < at("remove from etcd"));
    assert.ok(at("remove from etcd") < at("stop workload"));
    assert.ok(at("stop workload") < at("delete volume"));
    assert.ok(at("delete volume") < at("delete member"));
  }
});

test("an upgrade over two minors is two rolls, leader last in each", () => {
  const { steps: acts, end } = plan(edit(healthy({ version: "3.5.35" }), { version: "3.7.3" }));
  assert.ok(end.converged);
  const rolls = acts.filter((act) => act.action.kind === "UpdateMember" && act.action.purpose === "roll");
  assert.equal(rolls.length, 6);
  assert.ok(rolls.slice(0, 3).every((act) => act.message.includes("3.5.35 → 3.6.16")));
  assert.ok(rolls.slice(3).every((act) => act.message.includes("3.6.16 → 3.7.3")));
});

test("hibernating and waking keeps every record and changes nobody's template (H5)", () => {
  const asleep = edit(healthy({ version: "3.5.35" }), { replicas: 0 });
  assert.equal(steps(asleep).filter((step) => step.startsWith("delete")).length, 0);
});

test("a storage swap adds before it removes, one member at a time (H6)", () => {
  const got = steps(edit(healthy(), { storage: { medium: "Memory", size: "10Gi" } }));
  for (const [newcomer, old] of [
    ["demo-4", "demo-3"],
    ["demo-5", "demo-2"],
    ["demo-6", "demo-1"],
  ]) {
    assert.ok(got.indexOf(`promote ${newcomer}`) < got.indexOf(`remove from etcd ${old}`));
  }
  assert.ok(got.indexOf("delete member demo-3") < got.indexOf("retire demo-2"));
});

test("a member without its data is removed first, then replaced under a new name (H6, I4)", () => {
  const got = steps(exited(healthy(), "demo-2", "data-missing"));
  assert.ok(got.indexOf("remove from etcd demo-2") < got.indexOf("add learner demo-4"));
  assert.ok(got.includes("promote demo-4"));
});

test("deleting keeps the volumes unless the spec says otherwise (I5)", () => {
  const deleting = (o: Observation) => ({ ...o, cluster: { ...o.cluster, deleting: true } });
  const kept = steps(deleting(healthy()));
  assert.ok(!kept.some((step) => step.startsWith("delete volume")));
  assert.equal(kept.at(-1), "finish deletion");
  const dropped = steps(deleting(edit(healthy(), { storage: { retention: { onDelete: "Delete" } } })));
  assert.equal(dropped.filter((step) => step.startsWith("delete volume")).length, 3);
});

test("a plan that cannot go on ends with the reason", () => {
  const { end } = plan(edit(healthy({ version: "3.7.3" }), { version: "3.5.35" }));
  assert.ok(!end.converged && end.holds.some((hold) => hold.reason === "VersionRefused"));
});

test("waking is planned with everybody who had joined, founder or not", () => {
  const grown = run(edit(healthy({ replicas: 1 }), { replicas: 3 }));
  const asleep = run(edit(grown, { replicas: 0 }));
  const forgotten = { ...asleep, etcd: { ...asleep.etcd, list: undefined, clusterVersion: undefined } };
  assert.deepEqual(steps(edit(forgotten, { replicas: 3 })), ["wake demo-1", "wake demo-2", "wake demo-3"]);
});

test("a list that cannot be read now still has the joiner that etcd was told of", () => {
  let world = edit(healthy({ replicas: 1 }), { replicas: 2 });
  while (world.members.at(-1)?.record.memberID === undefined || world.members.length < 2)
    world = predict(world, decide(world).act!.action);
  const { list: _unreadable, ...etcd } = world.etcd;
  assert.deepEqual(steps({ ...world, etcd }), ["latch-joined demo-2", "promote demo-2"]);
});

test("a wait that begins anew whenever it is looked at ends the plan at the first look", () => {
  // Nobody noted since when they are ill: their time is always still to come.
  const members = healthy().members.map((facts) => ({
    ...facts,
    workload: { state: "waiting" as const, reason: "ContainerCreating", since: 0 },
    answer: { reachable: false as const, error: "no process runs" },
  }));
  const { list: _none, ...etcd } = healthy().etcd;
  const world = { ...healthy(), members, etcd };
  const { steps: acts, end } = plan(world);
  assert.deepEqual(acts, []);
  assert.ok(!end.converged);
  assert.deepEqual(end.holds, decide(world).holds);
});
