import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep, plan } from "../plan.ts";
import { change, healthy } from "../testing/cluster.ts";

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
  const told = change(world, "demo-3", ({ answer }) =>
    answer.reachable ? { answer: { ...answer, dbSizeInUse: 1 * MIB } } : {},
  );
  assert.deepEqual(plan(told).steps.map(describeStep), [
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
    "disarm NOSPACE",
  ]);
});

test("live data that fills the quota is told, and looked at again when something was deleted", () => {
  const world = full(15.9 * MIB, { revision: 50, at: 1_750_000_000_000 });
  const { act, holds } = decide(world);
  assert.equal(act, undefined);
  const hold = holds.find(({ reason }) => reason === "NoSpace");
  assert.match(hold?.message ?? "", /live data fills the quota.*16 MiB/);
  assert.match(hold?.next ?? "", /quotaBackendBytes/);
  const later = { ...full(15.9 * MIB, { revision: 40, at: world.now - 60_000 }) };
  assert.equal(decide(later).act?.action.kind, "Compact");
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
