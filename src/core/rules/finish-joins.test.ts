import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { change, edit, exited, healthy, run } from "../testing/cluster.ts";

function passes(observation: Observation, count: number): Observation {
  let world = observation;
  for (let i = 0; i < count; i++) world = predict(world, decide(world).act!.action);
  return world;
}

test("a crash after etcd was told goes on by matching the peer URL (H10)", () => {
  const world = passes(edit(healthy(), { replicas: 4 }), 2);
  assert.equal(world.members.at(-1)?.record.memberID, undefined);
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.change.memberID, "id-of-demo-4");
});

test("nobody is told to join while etcd prepares a downgrade: that is cancelled first, and asked for again later (H13)", () => {
  let world = passes(edit(healthy({ version: "3.7.3" }), { version: "3.6.16" }), 1);
  world = edit(world, { replicas: 4 });
  const steps: string[] = [];
  for (let i = 0; i < 60; i++) {
    const { act } = decide(world);
    if (act) steps.push(act.action.kind);
    world = settle(act ? predict(world, act.action) : world);
  }
  const order = steps.filter((step) => /Downgrade|AddLearner|Promote/.test(step));
  assert.deepEqual(order, ["CancelDowngrade", "AddLearner", "Promote", "EnableDowngrade"]);
});

test("the list a joiner starts with is etcd's, and names nobody else who has not started (H7)", () => {
  const { act } = decide(passes(edit(healthy(), { replicas: 5 }), 4));
  assert.ok(act?.action.kind === "UpdateMember" && act.action.purpose === "permit-start");
  assert.deepEqual(
    act.action.change.initialCluster?.map((peer) => peer.name),
    ["demo-1", "demo-2", "demo-3", "demo-4"],
  );
});

test("of several newcomers the next is added when the former serves, before the former votes (R19)", () => {
  let world = edit(healthy(), { replicas: 5 });
  const steps: string[] = [];
  while (steps.length < 20) {
    const { act } = decide(world);
    if (act) {
      steps.push([act.action.kind, "member" in act.action ? act.action.member : ""].join(" "));
      world = predict(world, act.action);
    } else if (decide(world).converged) break;
    world = settle(world);
  }
  assert.deepEqual(
    steps.filter((step) => /AddLearner|Promote/.test(step)),
    ["AddLearner demo-4", "AddLearner demo-5", "Promote demo-4", "Promote demo-5"],
  );
  const [second, latch] = [steps.indexOf("AddLearner demo-5"), steps.lastIndexOf("UpdateMember demo-4")];
  assert.ok(latch < second, steps.join("; "));
});

test("a joiner whose list went stale before it started gets a new one (H7)", () => {
  let world = passes(edit(healthy(), { replicas: 4 }), 2);
  const { act } = decide(world);
  assert.ok(act?.action.kind === "UpdateMember");
  const { change: start } = act.action;
  // It was permitted with a list from before another member was removed, and exits with the mismatch.
  const stale = [...(start.initialCluster ?? []), { name: "gone", peerURL: "https://gone:2380" }];
  world = change(world, "demo-4", ({ record }) => ({
    record: { ...record, ...start, initialCluster: stale },
    workload: {
      state: "exited",
      since: world.now,
      restarts: 1,
      cause: "member-list-mismatch",
      detail: "",
      startedFrom: "old",
    },
  }));
  const next = decide(world);
  assert.equal(next.act?.action.kind === "UpdateMember" && next.act.action.purpose, "rebuild-list");
  assert.equal(run(world).members.length, 4);
});

test("a joiner that runs and does not serve is nudged, again and again, and not before it had time (H7)", () => {
  // demo-4 was added and permitted; it runs and says nothing.
  const started = settle(passes(edit(healthy(), { replicas: 4 }), 3));
  const silent = change(started, "demo-4", { answer: { reachable: false, error: "refused" } });
  const after = (world: Observation, ms: number) => ({ ...world, now: world.now + ms });
  const early = decide(after(silent, 1_999));
  assert.equal(early.act, undefined);
  assert.equal(early.lookAgainAt, silent.now + 2_000, "looked at when it is due");
  const due = after(silent, 2_000);
  assert.equal(decide(due).act?.action.kind, "NudgeLog");
  const nudged = change(predict(due, { kind: "NudgeLog" }), "demo-4", silent.members.at(-1)!);
  assert.equal(decide(after(nudged, 1_999)).act, undefined);
  assert.equal(decide(after(nudged, 2_000)).act?.action.kind, "NudgeLog");
});

test("nobody is added while a voter is down (R19)", () => {
  const world = exited(passes(edit(healthy(), { replicas: 4 }), 1), "demo-2");
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  assert.ok(holds.some((hold) => hold.code === "JoinAwaitsVoters"));
});

test("below 3.6 a second learner waits for the first, whoever recorded it (H1)", () => {
  const permitted = passes(edit(healthy({ version: "3.5.35" }), { replicas: 4 }), 3);
  const world = passes(settle(permitted), 1);
  const [joiner] = world.members.slice(-1);
  assert.ok(joiner?.record.joined && world.etcd.list?.members.some((entry) => entry.isLearner));
  const address = world.platform.offers.at(-1)?.address ?? joiner.record.address;
  const { memberID: _, ...fresh } = joiner.record;
  const second = { ...joiner, record: { ...fresh, name: "demo-5", ordinal: 5, joined: false, address } };
  const { act, holds } = decide({ ...world, members: [...world.members, second] });
  assert.notEqual(act?.action.kind, "AddLearner");
  assert.ok(holds.some((hold) => hold.code === "JoinAwaitsLearner"));
});

test("a joiner that a person took out of etcd before it served makes room for another one, and no circle (I4)", () => {
  const permitted = passes(edit(healthy(), { replicas: 4 }), 3);
  const { list } = permitted.etcd;
  assert.ok(list && permitted.members.at(-1)?.record.memberID === "id-of-demo-4");
  const members = list.members.filter(({ id }) => id !== "id-of-demo-4");
  const world = change({ ...permitted, etcd: { ...permitted.etcd, list: { ...list, members } } }, "demo-4", {
    answer: { reachable: false, error: "refused" },
  });
  const { act } = decide(world);
  assert.equal(act?.action.kind === "UpdateMember" && act.action.purpose, "leave");
  assert.deepEqual(
    run(world).members.map(({ record }) => record.name),
    ["demo-1", "demo-2", "demo-3", "demo-5"],
  );
});
