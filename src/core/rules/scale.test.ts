import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decide } from "../decide.ts";
import { describeStep, plan } from "../plan/plan.ts";
import { change, edit, exited, healthy, leaderOf, run } from "../testing/cluster.ts";
import { predict } from "../plan/predict.ts";

test("any size from 1 to 9 is reached from any other, and every name is new", () => {
  const size = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(size, size, fc.constantFrom("3.5.35", "3.6.16", "3.7.3"), (from, to, version) => {
      const end = run(edit(healthy({ replicas: from, version }), { replicas: to }));
      assert.equal(end.members.length, to);
      assert.equal(end.etcd.list?.members.length, to);
      assert.ok(end.etcd.list?.members.every((entry) => !entry.isLearner));
    }),
    { numRuns: 60 },
  );
});

test("scale-in spares the leader while there is another", () => {
  const world = healthy();
  const end = run(edit(world, { replicas: 1 }));
  assert.equal(end.members[0]?.record.name, leaderOf(world));
});

test("scale-in takes a dead member first (H6)", () => {
  const { act } = decide(exited(edit(healthy({ replicas: 5 }), { replicas: 3 }), "demo-1"));
  assert.equal(act?.action.kind === "UpdateMember" && act.action.member, "demo-1");
});

test("in and out again uses new names (H11)", () => {
  const end = run(edit(run(edit(healthy(), { replicas: 1 })), { replicas: 3 }));
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-4", "demo-5"],
  );
});

test("before a healthy copy goes, the copies are compared, unless that was done just now", () => {
  const world = edit(healthy(), { replicas: 1 });
  assert.equal(decide(world).act?.action.kind, "UpdateMember");
  assert.equal(decide({ ...world, now: world.now + 600_000 }).act?.action.kind, "CompareHashes");
});

test("a newcomer deleted by hand before it votes goes at once: its successor would wait for it for ever", () => {
  let world = edit(healthy({ replicas: 2 }), { replicas: 3 });
  for (let next = decide(world).act; next && next.action.kind !== "Promote"; next = decide(world).act)
    world = predict(world, next.action);
  const learner = world.etcd.list?.members.find((entry) => entry.isLearner);
  assert.equal(learner?.name, "demo-3");
  const end = run(change(world, "demo-3", { deleting: true }));
  assert.deepEqual(
    end.members.map((facts) => facts.record.name),
    ["demo-1", "demo-2", "demo-4"],
  );
});

test("below 3.6, where a newcomer is the rollout, a standing learner makes room first and comes back last (H4, H8)", () => {
  const memory = { medium: "Memory", size: "64Mi" } as const;
  const before = healthy({ replicas: 3, learners: 1, storage: memory });
  const { members } = run(edit(before, { version: "3.5.35" }));
  assert.deepEqual(
    members.map(({ record }) => `${record.role} ${record.template.version}`),
    ["Voter 3.5.35", "Voter 3.5.35", "Voter 3.5.35", "Learner 3.5.35"],
  );
  assert.deepEqual(
    members.map(({ record }) => record.ordinal),
    [5, 6, 7, 8],
  );
});

test("whoever makes room for a newcomer votes until the newcomer does, however few they are (I1)", () => {
  for (const replicas of [1, 2, 3, 4, 5]) {
    const { steps, end } = plan(edit(healthy({ replicas }), { storage: { className: "fast" } }));
    assert.ok(end.converged);
    let voters = replicas;
    for (const step of steps.map(describeStep)) {
      if (step.startsWith("promote ")) voters++;
      if (step.startsWith("remove from etcd ")) voters--;
      assert.ok(voters >= replicas, `${voters} of ${replicas} vote after: ${step}`);
    }
  }
});

test("whoever has left etcd keeps nobody from joining or leaving, however long its workload takes to end", () => {
  const leaving = { reason: "it is lost", volume: "Retain", broken: true } as const;
  const world = healthy();
  const list = world.etcd.list && {
    ...world.etcd.list,
    members: world.etcd.list.members.filter(({ name }) => name !== "demo-3"),
  };
  const stuck = change({ ...world, etcd: { ...world.etcd, list } }, "demo-3", ({ record }) => ({
    record: { ...record, leaving },
    workload: { state: "stopping", since: world.now - 3_600_000 },
    answer: { reachable: false, error: "no process runs" },
  }));
  const marks = { ...stuck.cluster.marks, highestOrdinal: 3, replaced: { "demo-3": world.now } };
  const known = { ...stuck, cluster: { ...stuck.cluster, marks } };
  const grow = decide(known);
  assert.equal(grow.act?.action.kind === "CreateMember" && grow.act.action.member, "demo-4");
  const { unfinished, next } = grow.holds[0] ?? {};
  assert.ok(unfinished && next?.includes("force-delete the Pod"));
  assert.equal(decide(edit(known, { replicas: 1 })).act?.class, "shrink");
  assert.equal(decide(edit(known, { replicas: 2 })).converged, false, "what is left of it is told");
});
