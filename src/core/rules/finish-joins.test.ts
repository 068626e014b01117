import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { settle } from "../plan/settle.ts";
import { startHash } from "../template/template.ts";
import { NOW, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { listed, starting } from "../testing/joining.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { finishJoins } from "./finish-joins.ts";

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

for (const version of ["3.5.35", "3.6.16"])
  test(`a newcomer whose Pod or volume is refused is not added to etcd, where it would never start (H16, etcd ${version})`, () => {
    const recorded = passes(edit(healthy({ version }), { replicas: 4 }), 1);
    for (const reason of ["PodRefused", "ObjectRefused"] as const) {
      const workload = { state: "absent", notMade: { reason, message: "exceeded quota" } } as const;
      const { act, holds } = decide(change(recorded, "demo-4", { workload }));
      assert.equal(act, undefined);
      assert.ok(holds.some((hold) => hold.code === `Join${reason}`));
    }
    assert.equal(decide(recorded).act?.action.kind, "AddLearner");
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

const three = healthy();

test("a joiner that etcd knows is started before the next one is added (H7)", () => {
  const grown = run(edit(three, { replicas: 5 }));
  const joiner = { boot: "Join", joined: false, volumeUID: undefined, memberID: undefined } as const;
  const known = record(grown, "demo-4", joiner);
  const blank = record(known, "demo-5", joiner);
  const listed = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.flatMap((entry) =>
          entry.name === "demo-5"
            ? []
            : [entry.name === name ? { ...entry, name: "", isLearner: true } : entry],
        ),
      },
    },
  });
  assert.deepEqual(says(finishJoins, listed(blank, "demo-4")), ["join: permit-start demo-4"]);
  const pending = change(listed(blank, "demo-4"), "demo-4", { volume: { state: "pending", reason: "none" } });
  assert.deepEqual(says(finishJoins, pending), ["VolumePending"]);
});

test("a joiner that runs is waited for, and nudged after two seconds of silence, again and again", () => {
  const joining = starting();
  assert.deepEqual(says(finishJoins, joining), ["MemberStarting for 2000 ms"]);
  const at = (ms: number, o = joining): Observation => ({ ...o, now: NOW + ms });
  assert.deepEqual(says(finishJoins, at(1_999)), ["MemberStarting for 1 ms"]);
  assert.deepEqual(says(finishJoins, at(2_000)), ["join: nudge the log"]);
  const nudged = { ...joining, etcd: { ...joining.etcd, nudgedAt: NOW + 2_000 } };
  assert.deepEqual(says(finishJoins, at(3_000, nudged)), ["MemberStarting for 1000 ms"]);
  const waiting = change(joining, "demo-4", {
    workload: { state: "waiting", reason: "no node fits", since: NOW },
  });
  assert.deepEqual(says(finishJoins, at(9_000, waiting)), ["MemberStarting"]);
});

test("a list that went stale before its member started is rebuilt; who had started keeps its own (H7)", () => {
  const joining = starting();
  const stale = record(joining, "demo-4", { initialCluster: [] });
  const old = change(stale, "demo-4", ({ record: known, workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: startHash(known) } : workload,
  }));
  assert.deepEqual(says(finishJoins, old), ["heal: rebuild-list demo-4"]);
  const named = listed(old, "", { name: "demo-4" });
  assert.deepEqual(says(finishJoins, named), ["MemberStarting for 2000 ms"]);
  const mismatch = (cause: "member-list-mismatch" | "killed") =>
    change(named, "demo-4", ({ workload }) => ({
      workload: {
        state: "exited",
        since: NOW,
        restarts: 1,
        cause,
        detail: "",
        startedFrom: ("startedFrom" in workload && workload.startedFrom) || "",
      },
    }));
  assert.deepEqual(says(finishJoins, mismatch("member-list-mismatch")), ["heal: rebuild-list demo-4"]);
  assert.deepEqual(says(finishJoins, mismatch("killed")), [], "what is wrong with it is for other rules");
});

test("one that runs with an old list is stopped, once", () => {
  const joining = starting();
  const outdated = change(joining, "demo-4", ({ workload }) => ({
    workload: workload.state === "running" ? { ...workload, startedFrom: "older" } : workload,
  }));
  assert.deepEqual(says(finishJoins, outdated), ["heal: stop workload demo-4"]);
  const stopping = change(outdated, "demo-4", {
    workload: { state: "stopping", since: NOW, startedFrom: "older" },
  });
  assert.deepEqual(says(finishJoins, stopping), ["MemberStarting"]);
});

test("nobody is added while a voter is down, or on 3.5 while there is a learner (R19, H1)", () => {
  let world = edit(three, { replicas: 4 });
  const { act } = decide(world);
  assert.ok(act);
  world = predict(world, act.action);
  assert.deepEqual(says(finishJoins, world), ["join: add learner demo-4"]);
  assert.deepEqual(says(finishJoins, exited(world, "demo-2")), ["MemberUnhealthy"]);
  assert.deepEqual(says(finishJoins, change(world, "demo-4", { deleting: true })), []);
  const standing = listed(world, "demo-3", { isLearner: true });
  assert.deepEqual(says(finishJoins, standing), ["join: add learner demo-4"]);
  const old = record(standing, "demo-1", {
    template: { ...viewOf(three).members[0]!.record.template, version: "3.5.35" },
  });
  assert.deepEqual(says(finishJoins, old), ["LearnerBehind"]);
});
