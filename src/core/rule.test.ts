/** What rules need before they say anything at all, each without those before it in the list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Observation } from "./observation.ts";
import type { Rule } from "./rule.ts";
import { compareHashes } from "./rules/compare-hashes.ts";
import { defragment } from "./rules/defragment.ts";
import { finishJoins } from "./rules/finish-joins.ts";
import { learners } from "./rules/learners.ts";
import { noSpace } from "./rules/no-space.ts";
import { outgrown } from "./rules/outgrown.ts";
import { rollout } from "./rules/rollout.ts";
import { scaleIn } from "./rules/scale-in.ts";
import { scaleOut } from "./rules/scale-out.ts";
import { stay } from "./rules/stay.ts";
import { unrecordedMembers } from "./rules/unrecorded-members.ts";
import { arbitraryObservation } from "./testing/arbitrary-observation.ts";
import { change, edit, healthy } from "./testing/cluster.ts";
import { says } from "./testing/says.ts";
import { viewOf } from "./view.ts";

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
  unrecordedMembers,
];

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

test("the very cluster in which they all have something to do: without quorum, or the latch, they do nothing", () => {
  const world = busy();
  const list = world.etcd.list && { ...world.etcd.list, linearizable: false };
  const unquorate = { ...world, etcd: { ...world.etcd, list } };
  for (const rule of NEED_QUORUM) assert.deepEqual(says(rule, unquorate), []);
  assert.deepEqual(says(unrecordedMembers, unquorate), []);
  const unseen = {
    ...world,
    cluster: { ...world.cluster, marks: { life: 1, highestOrdinal: 0 } },
    members: world.members.map((facts) => ({ ...facts, record: { ...facts.record, joined: false } })),
  };
  for (const rule of NEED_THE_LATCH) assert.deepEqual(says(rule, unseen), []);
});
