import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decide } from "../decide.ts";
import type { MemberFacts, Observation } from "../observation.ts";
import { predict } from "../plan/predict.ts";
import { available } from "../status/conditions.ts";
import { arbitraryObservation } from "../testing/arbitrary-observation.ts";
import { answering, asked, change, healthy, record } from "../testing/cluster.ts";
import { listed, silent } from "../testing/joining.ts";
import { says } from "../testing/says.ts";
import { viewOf } from "../view.ts";
import { establish } from "./establish.ts";

test("the cluster is latched before anything else once it serves (I3)", () => {
  let world = asked();
  for (let i = 0; i < 6; i++) {
    const { act } = decide(world);
    assert.ok(act);
    world = predict(world, act.action);
  }
  const { act } = decide(world);
  assert.equal(act?.rule, "establish");
  assert.equal(act?.action.kind === "MarkCluster" && act.action.purpose, "establish");
});

test("the latch compares tokens: another life's latch does not count (H11)", () => {
  const world = healthy();
  const marks = { ...world.cluster.marks, life: 2 };
  const { act } = decide({ ...world, cluster: { ...world.cluster, marks } });
  // Records of the former life leave and keep their volumes; nobody of them is trusted as the cluster.
  assert.equal(act?.rule, "finish-removals");
  assert.deepEqual(act?.action.kind === "UpdateMember" && act.action.change.leaving?.volume, "Retain");
});

test("a member is latched with its ID as soon as it serves", () => {
  const world = change(healthy(), "demo-2", ({ record }) => ({
    record: { ...record, joined: false, memberID: undefined },
  }));
  const { act } = decide(world);
  assert.equal(act?.action.kind, "UpdateMember");
  assert.deepEqual(act?.action.kind === "UpdateMember" && act.action.change, {
    joined: true,
    memberID: "id-of-demo-2",
  });
});

test("a member that answers for another cluster is not latched", () => {
  const world = change(healthy(), "demo-2", ({ record, answer }) => ({
    record: { ...record, joined: false, memberID: undefined },
    answer: answer.reachable ? { ...answer, clusterID: "other" } : answer,
  }));
  assert.notEqual(decide(world).act?.rule, "establish");
});

test("a lost mark is written again, and a member that has joined is proof enough until then (I3)", () => {
  const world = healthy();
  const { established: _lost, ...marks } = world.cluster.marks;
  const forgetful = { ...world, cluster: { ...world.cluster, marks } };
  const { act } = decide(forgetful);
  assert.deepEqual(act?.action.kind === "MarkCluster" && act.action.change.established, _lost);
  const { list: _silent, ...etcd } = forgetful.etcd;
  const silent = decide({ ...forgetful, etcd });
  assert.equal(silent.act, undefined);
  assert.equal(silent.holds.at(-1)?.rule, "quorum-lost");
});

test("clients are let in once a quorum would not start over from an empty directory (H3)", () => {
  const shut: Observation = { ...healthy(), platform: { ...healthy().platform, opened: false } };
  const unconfirmed = (...members: string[]) =>
    members.reduce((o, name) => change(o, name, () => ({ unconfirmed: true })), shut);
  assert.equal(viewOf(unconfirmed("demo-1")).open, true);
  const waiting = unconfirmed("demo-1", "demo-2");
  assert.equal(viewOf(waiting).open, false);
  assert.equal(available(viewOf(waiting)).reason, "Booting");
  const { act, holds, converged } = decide(waiting);
  assert.equal(act, undefined);
  assert.equal(converged, false);
  assert.equal(holds[0]?.rule, "establish");
  assert.match(holds[0]?.message ?? "", /the nodes of demo-1, demo-2/);
  // Once they are in nothing shuts them out again.
  const opened = { ...waiting, platform: { ...waiting.platform, opened: true } };
  assert.equal(viewOf(opened).open, true);
  assert.equal(decide(opened).converged, true);
  // Nor does an operator that cannot ask who votes.
  const { list: _list, ...etcd } = waiting.etcd;
  assert.equal(viewOf({ ...unconfirmed("demo-1"), etcd }).open, true);
  assert.equal(viewOf({ ...waiting, etcd }).open, false);
});

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) };
const always = (holds: (o: Observation) => void) => fc.assert(fc.property(arbitraryObservation, holds), RUNS);
const three = healthy();

test("nobody is marked or latched before etcd has told who is in its list (I3, H3)", () => {
  always((o) => {
    if (o.etcd.list === undefined) assert.deepEqual(says(establish, o), []);
  });
});

test("a cluster is seen to exist by a founder that serves, or by one who had joined; no newcomer proves it (I3)", () => {
  const unmarked: Observation = {
    ...three,
    cluster: { ...three.cluster, marks: { life: 1, highestOrdinal: 0 } },
    members: three.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  const only = (more: Partial<MemberFacts["record"]>) => {
    const rest = ["demo-2", "demo-3"].reduce((o, name) => silent(o, name), unmarked);
    return record(rest, "demo-1", more);
  };
  assert.deepEqual(says(establish, only({})), ["record: mark establish"]);
  assert.deepEqual(says(establish, only({ boot: "Join" })), []);
  assert.deepEqual(says(establish, only({ boot: "Join", joined: true })), ["record: mark establish"]);
  assert.deepEqual(says(establish, answering(only({}), "demo-1", { leaderID: "0" })), []);
  assert.deepEqual(says(establish, answering(only({}), "demo-1", { memberID: "another" })), []);
  assert.deepEqual(says(establish, listed(only({}), "demo-1", { name: "" })), []);
});

test("who serves is latched in order, and only as a member of this very cluster (H3)", () => {
  const fresh = record(record(three, "demo-2", { joined: false }), "demo-3", { joined: false });
  assert.deepEqual(says(establish, fresh), ["record: latch-joined demo-2"]);
  assert.deepEqual(says(establish, answering(fresh, "demo-2", { clusterID: "other" })), [
    "record: latch-joined demo-3",
  ]);
  assert.deepEqual(says(establish, silent(fresh, "demo-2")), ["record: latch-joined demo-3"]);
});
