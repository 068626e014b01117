import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { arbitraryObservation } from "../testing/arbitrary-observation.ts";
import { NOW, change, edit, exited, healthy, leaderOf, record } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { finishRemovals } from "./finish-removals.ts";

test("out of etcd first, then the process, the volume, the record; and its name is remembered", () => {
  const world = edit(healthy(), { replicas: 2 });
  assert.deepEqual(plan(world).steps.map(describeStep), [
    "leave demo-3",
    "remove from etcd demo-3",
    "stop workload demo-3",
    "delete volume demo-3",
    "mark remember-member",
    "delete member demo-3",
  ]);
});

test("a leader that leaves hands over first (R20)", () => {
  const world = healthy();
  const name = leaderOf(world);
  const leaving = { reason: "it goes", volume: "Retain" as const };
  const { act } = decide(change(world, name, ({ record }) => ({ record: { ...record, leaving } })));
  assert.equal(act?.action.kind, "MoveLeader");
});

test("a record of another life that etcd counts is removed there before it is stopped (I1)", () => {
  const leaving = { reason: "it goes", volume: "Retain" as const };
  const world = change(healthy(), "demo-3", ({ record }) => ({
    record: { ...record, token: `${record.token}7`, leaving },
  }));
  assert.equal(decide(world).act?.action.kind, "RemoveFromEtcd");
});

test("a healthy member that has to stay does not keep a dead one from leaving, for which it may be waiting", () => {
  let world = healthy({ replicas: 3 });
  world = change(world, "demo-1", ({ record }) => ({
    record: { ...record, leaving: { reason: "new storage", volume: "Delete" } },
  }));
  world = change(exited(world, "demo-2", "data-missing"), "demo-2", ({ record }) => ({
    record: { ...record, leaving: { reason: "its data is gone", volume: "Delete", broken: true } },
  }));
  const { act, holds } = decide(world);
  assert.equal(act?.action.kind === "RemoveFromEtcd" && act.action.member, "demo-2");
  assert.equal(holds[0]?.reason, "RemovalUnsafe");
});

test("a volume that was put in the place of the member's own is left where it is (I9)", () => {
  const leaving = { reason: "it goes", volume: "Delete" as const };
  const world = change(edit(healthy(), { replicas: 2 }), "demo-3", ({ record }) => ({
    record: { ...record, leaving },
    volume: { state: "ready", uid: "restored-by-hand" },
  }));
  assert.ok(!plan(world).steps.some(({ action }) => action.kind === "DeleteVolume"));
});

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) };
const always = (holds: (o: Observation) => void) => fc.assert(fc.property(arbitraryObservation, holds), RUNS);
const five = healthy({ replicas: 5 });
const leaving = { reason: "it goes", volume: "Retain" } as const;
const three = healthy();
const HOUR = 3_600_000;

test("of those who leave, one that may go now goes, whoever else has to wait (H10)", () => {
  always((o) => {
    const said = says(finishRemovals, o);
    assert.ok(said.filter((outcome) => outcome.includes(": ")).length <= 1);
  });
});

test("among those who leave, the first that can go goes; its volume and its record wait for its end", () => {
  const gone = (o: Observation, name: string): Observation => ({
    ...o,
    etcd: {
      ...o.etcd,
      list: o.etcd.list && {
        ...o.etcd.list,
        members: o.etcd.list.members.filter((entry) => entry.name !== name),
      },
    },
  });
  const both = record(record(five, "demo-2", { leaving }), "demo-3", { leaving });
  assert.deepEqual(says(finishRemovals, both), ["heal: remove from etcd demo-2"]);
  const out = gone(gone(both, "demo-2"), "demo-3");
  assert.deepEqual(says(finishRemovals, out), ["heal: stop workload demo-2"]);
  const stopping = { state: "stopping", since: five.now } as const;
  const waits = change(out, "demo-2", { workload: stopping });
  assert.deepEqual(says(finishRemovals, waits), ["record: mark remember-member"]);
  const counted = {
    ...waits,
    cluster: { ...waits.cluster, marks: { ...waits.cluster.marks, highestOrdinal: 5 } },
  };
  assert.deepEqual(says(finishRemovals, counted), ["Stopping for 10000 ms", "heal: stop workload demo-3"]);
  const lost = change(out, "demo-2", { workload: { ...stopping, lostNode: "node-7" } });
  assert.deepEqual(says(finishRemovals, lost), ["record: mark remember-member"]);
  const known = {
    ...lost,
    cluster: { ...lost.cluster, marks: { ...lost.cluster.marks, highestOrdinal: 5 } },
  };
  assert.deepEqual(says(finishRemovals, known), ["heal: delete member demo-2"]);
  const old = {
    ...known,
    etcd: { ...known.etcd, list: known.etcd.list && { ...known.etcd.list, linearizable: false } },
  };
  assert.deepEqual(says(finishRemovals, old), [], "as long as etcd cannot confirm it, nothing is deleted");
});

test("a record of an abandoned first boot goes, and keeps a volume that may have been used", () => {
  const former = record(record(three, "demo-2", { token: "older" }), "demo-3", {
    token: "older",
    volumeUID: undefined,
  });
  assert.deepEqual(says(finishRemovals, former), ["heal: leave demo-2"]);
  const volumeOf = (o: Observation) => {
    const [outcome] = finishRemovals(viewOf(o));
    const action = outcome && "act" in outcome ? outcome.act.action : undefined;
    return action?.kind === "UpdateMember" ? action.change.leaving?.volume : undefined;
  };
  assert.equal(volumeOf(former), "Retain");
  assert.equal(volumeOf(record(former, "demo-2", { leaving })), "Delete");
});

test("a replacement is remembered for an hour, with those of that hour, and only if the member was broken", () => {
  const gone = (leaving: NonNullable<MemberFacts["record"]["leaving"]>) => {
    const o = change(record(three, "demo-2", { leaving }), "demo-2", { workload: { state: "absent" } });
    const list = o.etcd.list && {
      ...o.etcd.list,
      members: o.etcd.list.members.filter((entry) => entry.name !== "demo-2"),
    };
    const replaced = { "demo-8": NOW - HOUR, "demo-9": NOW - HOUR + 1 };
    const marks = { ...o.cluster.marks, replaced };
    return { ...o, etcd: { ...o.etcd, list }, cluster: { ...o.cluster, marks } };
  };
  const kept = (o: Observation) => {
    const [outcome] = finishRemovals(viewOf(o));
    const action = outcome && "act" in outcome ? outcome.act.action : undefined;
    assert.ok(action?.kind === "MarkCluster");
    return action.change;
  };
  assert.deepEqual(kept(gone({ reason: "it broke", volume: "Retain", broken: true })), {
    highestOrdinal: 2,
    replaced: { "demo-9": NOW - HOUR + 1, "demo-2": NOW },
  });
  assert.deepEqual(kept(gone({ reason: "it goes", volume: "Retain" })), { highestOrdinal: 2 });
});

test("a directory on a node is deleted, waited for without keeping anything back, and left behind when it hangs", () => {
  const leaves = { reason: "it goes", volume: "Delete" } as const;
  const at = (volume: MemberFacts["volume"], later = 0): Observation => {
    const { list } = five.etcd;
    const out = {
      ...five,
      now: five.now + later,
      cluster: { ...five.cluster, marks: { ...five.cluster.marks, highestOrdinal: 5 } },
      etcd: {
        ...five.etcd,
        list: list && { ...list, members: list.members.filter(({ name }) => name !== "demo-5") },
      },
    };
    return change(record(out, "demo-5", { leaving: leaves }), "demo-5", {
      workload: { state: "absent" },
      volume,
    });
  };
  const pending = { state: "pending", reason: "its directory" } as const;
  const where = "/data/demo-5 on node-1";
  const clearing = { since: five.now, where };
  const uid = five.members.at(-1)!.record.volumeUID!;
  assert.deepEqual(says(finishRemovals, at({ ...pending, uid })), ["heal: delete volume demo-5"]);
  assert.deepEqual(says(finishRemovals, at({ ...pending, uid, clearing })), ["heal: delete volume demo-5"]);
  assert.deepEqual(says(finishRemovals, at({ ...pending, clearing })), ["DataBeingDeleted for 300000 ms"]);
  const params = (o: Observation) =>
    finishRemovals(viewOf(o)).map((one) => "act" in one && [one.act.code, one.act.params]);
  const why = "it could not be deleted within 5 min";
  for (const volume of [
    { ...pending, clearing },
    { ...pending, uid, clearing },
  ])
    assert.deepEqual(params(at(volume, 300_000)), [["DataRemains", { member: "demo-5", where, why }]]);
  const gone = { ...pending, remains: { where, why: "the node no longer exists" } };
  assert.deepEqual(params(at(gone)), [["DataRemains", { member: "demo-5", ...gone.remains }]]);
  assert.deepEqual(says(finishRemovals, at({ state: "absent" })), ["heal: delete member demo-5"]);
});
