/** Each rule by itself, without those before it in the list: what it needs before it says anything at all. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Rule } from "../rule.ts";
import type { Observation } from "../observation.ts";
import { arbitraryObservation } from "../testing/arbitrary-observation.ts";
import { change, edit, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { hasLeft, viewOf } from "../view.ts";
import { compareHashes } from "./compare-hashes.ts";
import { defragment } from "./defragment.ts";
import { establish } from "./establish.ts";
import { finishJoins } from "./finish-joins.ts";
import { finishRemovals } from "./finish-removals.ts";
import { learners } from "./learners.ts";
import { noSpace } from "./no-space.ts";
import { outgrown } from "./outgrown.ts";
import { rollout } from "./rollout.ts";
import { scaleIn } from "./scale-in.ts";
import { scaleOut } from "./scale-out.ts";
import { stay } from "./stay.ts";
import { strangers } from "./strangers.ts";

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) };
const always = (holds: (o: Observation) => void) => fc.assert(fc.property(arbitraryObservation, holds), RUNS);

/** Not among them: `corrupt`, which without quorum may let in the suspect that quorum waits for. */
const NEED_QUORUM: readonly Rule[] = [
  compareHashes,
  defragment,
  finishJoins,
  learners,
  noSpace,
  outgrown,
  rollout,
  scaleIn,
  scaleOut,
];
const NEED_THE_LATCH: readonly Rule[] = [
  compareHashes,
  defragment,
  finishJoins,
  learners,
  outgrown,
  rollout,
  scaleIn,
  scaleOut,
  stay,
  strangers,
];

test("what needs quorum is not even thought of without it", () => {
  always((o) => {
    if (viewOf(o).hasQuorum) return;
    for (const rule of NEED_QUORUM) assert.deepEqual(says(rule, o), []);
  });
});

test("what changes an existing cluster says nothing before the cluster was seen to exist (I3)", () => {
  always((o) => {
    if (viewOf(o).established) return;
    for (const rule of NEED_THE_LATCH) assert.deepEqual(says(rule, o), []);
  });
});

/** A cluster in which every rule has something to say, but for what it needs. */
function busy(): Observation {
  const world = edit(healthy(), { replicas: 5, learners: 1, options: { logLevel: "Debug" } });
  const [entry] = world.etcd.list?.members ?? [];
  assert.ok(world.etcd.list && entry);
  const joiner = {
    ...world.members[2]?.record,
    boot: "Join" as const,
    joined: false,
    volumeUID: undefined,
    memberID: undefined,
  };
  const ghost = {
    ...entry,
    id: "77",
    name: "demo-9",
    peerURLs: ["https://demo-9.demo:2380"],
    isLearner: true,
  };
  const changed = change(world, "demo-3", ({ record }) => ({ record: { ...record, ...joiner } }));
  const retired = change(changed, "demo-2", ({ record }) => ({
    record: { ...record, retiring: { reason: "it is old" } },
    volume: { state: "ready", uid: record.volumeUID ?? "", tooSmall: "it is small" },
  }));
  return {
    ...retired,
    etcd: {
      ...retired.etcd,
      hashes: undefined,
      alarms: [
        { memberID: "0", alarm: "NOSPACE" },
        { memberID: "0", alarm: "CORRUPT" },
      ],
      list: { ...world.etcd.list, members: [...world.etcd.list.members, ghost] },
    },
  };
}

test("the very cluster in which they all have something to do: without quorum, or the latch, they do nothing", () => {
  const world = busy();
  const list = world.etcd.list && { ...world.etcd.list, linearizable: false };
  const unquorate = { ...world, etcd: { ...world.etcd, list } };
  for (const rule of NEED_QUORUM) assert.deepEqual(says(rule, unquorate), []);
  assert.deepEqual(says(strangers, unquorate), []);
  const unseen = {
    ...world,
    cluster: { ...world.cluster, marks: { life: 1, highestOrdinal: 0 } },
    members: world.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  for (const rule of NEED_THE_LATCH) assert.deepEqual(says(rule, unseen), []);
});

test("nobody is marked or latched before etcd has told who is in its list (I3, H3)", () => {
  always((o) => {
    if (o.etcd.list === undefined) assert.deepEqual(says(establish, o), []);
  });
});

test("a cluster with a member that etcd has yet to let go is not made smaller or larger at the same time", () => {
  always((o) => {
    const view = viewOf(o);
    if (!view.members.some((member) => member.record.leaving && !hasLeft(view, member))) return;
    assert.deepEqual(says(scaleIn, o), []);
    assert.ok(says(scaleOut, o).every((outcome) => outcome === "Stopping"));
  });
});

test("free pages are given back and data is compared only while every member is healthy (R29)", () => {
  always((o) => {
    const view = viewOf(o);
    if (view.members.every((member) => member.healthy || hasLeft(view, member))) return;
    assert.deepEqual(says(compareHashes, o), []);
    assert.deepEqual(says(defragment, o), []);
  });
});

test("of those who leave, one that may go now goes, whoever else has to wait (H10)", () => {
  always((o) => {
    const said = says(finishRemovals, o);
    assert.ok(said.filter((outcome) => outcome.includes(": ")).length <= 1);
  });
});
