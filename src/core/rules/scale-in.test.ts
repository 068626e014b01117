/** Too many members: who goes, and when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { predict } from "../plan/predict.ts";
import { arbitraryObservation } from "../testing/arbitrary-observation.ts";
import { change, edit, exited, healthy, leaderOf, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { unseen } from "../testing/unseen.ts";
import { hasLeft, viewOf } from "../view.ts";
import { scaleIn } from "./scale-in.ts";
import { scaleOut } from "./scale-out.ts";

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) };
const always = (holds: (o: Observation) => void) => fc.assert(fc.property(arbitraryObservation, holds), RUNS);
const five = healthy({ replicas: 5 });
const three = healthy();
const retiring = { reason: "it is old" };

test("a cluster with a member that etcd has yet to let go is not made smaller or larger at the same time", () => {
  always((o) => {
    const view = viewOf(o);
    if (!view.members.some((member) => member.record.leaving && !hasLeft(view, member))) return;
    assert.deepEqual(says(scaleIn, o), []);
    assert.ok(says(scaleOut, o).every((outcome) => outcome === "Stopping"));
  });
});

test("too many: the broken goes first, then who does not vote, then the youngest; the leader is the last", () => {
  const chosen = (o: Observation) => says(scaleIn, o)[0];
  const small = edit(five, { replicas: 4 });
  assert.equal(chosen(small), "shrink: leave demo-5");
  assert.equal(chosen(exited(small, "demo-2")), "shrink: leave demo-2");
  const isLearner = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.map((entry) =>
          entry.name === name ? { ...entry, isLearner: true } : entry,
        ),
      },
    },
  });
  assert.equal(chosen(isLearner(small, "demo-3")), "shrink: leave demo-3");
  // What is broken is of less use than what does not vote yet.
  assert.equal(chosen(exited(isLearner(small, "demo-3"), "demo-2")), "shrink: leave demo-2");
  const leads = small.members[4]?.record.memberID ?? "";
  const led = small.members.reduce(
    (o, facts) =>
      change(o, facts.record.name, ({ answer }) => ({
        answer: answer.reachable ? { ...answer, leaderID: leads } : answer,
      })),
    small,
  );
  assert.equal(chosen(led), "shrink: leave demo-4");
  assert.equal(chosen(edit(healthy({ replicas: 2 }), { replicas: 1 })), "shrink: leave demo-2");
});

test("who retires goes when as many others serve as the spec asks for, and not before (H6)", () => {
  const old = record(three, "demo-2", { retiring });
  assert.deepEqual(says(scaleIn, old), []);
  const more = record(edit(five, { replicas: 4 }), "demo-2", { retiring });
  assert.deepEqual(says(scaleIn, more), ["shrink: leave demo-2"]);
  assert.deepEqual(says(scaleIn, exited(more, "demo-4")), []);
});

test("two records deleted by hand are replaced in the order of their ordinals, one at a time", () => {
  const both = change(change(five, "demo-2", { deleting: true }), "demo-4", { deleting: true });
  assert.deepEqual(says(scaleIn, both), ["heal: retire demo-2"]);
  assert.deepEqual(says(scaleIn, record(both, "demo-2", { retiring })), ["heal: retire demo-4"]);
});

test("a member leaves only while enough others are healthy (I1)", () => {
  const small = exited(exited(edit(five, { replicas: 2 }), "demo-4"), "demo-5");
  // Three healthy of five: a broken one may go, and none of the healthy.
  assert.deepEqual(says(scaleIn, small), ["shrink: leave demo-5"]);
  const two = exited(edit(three, { replicas: 2 }), "demo-3");
  const other = change(two, "demo-3", ({ record: known }) => ({ record: { ...known, retiring } }));
  assert.deepEqual(says(scaleIn, edit(other, { replicas: 1 })), ["RemovalUnsafe"]);
});

test("scale-in takes no member for being out of our reach alone", () => {
  const o = edit(unseen(healthy({ replicas: 5 }), "demo-2", true, { seenByPeers: true }), { replicas: 4 });
  assert.deepEqual(says(scaleIn, o), ["shrink: leave demo-5"]);
  assert.deepEqual(says(scaleIn, unseen(o, "demo-2", false)), ["shrink: leave demo-2"]);
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
