import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { EtcdClusterSpecInput } from "../../api/etcd-cluster-spec.ts";
import { livenessPatienceMs, mayDefragment } from "../assess/liveness.ts";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { describeStep } from "../messages/step-names.ts";
import { plan } from "../plan/plan.ts";
import { arbitraryObservation } from "../testing/arbitrary-observation.ts";
import { NOW, answering, change, edit, exited, healthy, record, run } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { hasLeft, viewOf } from "../view.ts";
import { compareHashes } from "./compare-hashes.ts";
import { defragment } from "./defragment.ts";

const MIB = 1024 ** 2;

function fragmented(dbSize: number, inUse: number, input: Partial<EtcdClusterSpecInput> = {}): Observation {
  const world = healthy(input);
  return {
    ...world,
    members: world.members.map((facts) => ({
      ...facts,
      answer: facts.answer.reachable ? { ...facts.answer, dbSize, dbSizeInUse: inUse } : facts.answer,
    })),
  };
}

test("one at a time, the leader last (R29)", () => {
  assert.deepEqual(plan(fragmented(400 * MIB, 100 * MIB)).steps.map(describeStep), [
    "defragment demo-2",
    "defragment demo-3",
    "defragment demo-1",
  ]);
});

test("both thresholds must be exceeded", () => {
  assert.ok(decide(fragmented(150 * MIB, 60 * MIB)).converged);
  assert.ok(decide(fragmented(1000 * MIB, 700 * MIB)).converged);
});

test("never while a member is down", () => {
  assert.equal(decide(exited(fragmented(400 * MIB, 100 * MIB), "demo-2")).act, undefined);
});

test("a learner that cannot be defragmented is made anew after the voters, once a day at most (H8)", () => {
  const world = fragmented(400 * MIB, 100 * MIB, { learners: 1 });
  const defragmentations = ["defragment demo-2", "defragment demo-3", "defragment demo-1"];
  assert.deepEqual(plan(world).steps.map(describeStep), defragmentations);
  const old = change(world, "demo-4", ({ record }) => ({
    record: { ...record, createdAt: NOW - 100_000_000 },
  }));
  const reported = plan(old).steps.map(describeStep);
  assert.deepEqual(reported.slice(0, 5), [...defragmentations, "leave demo-4", "remove from etcd demo-4"]);
  assert.ok(reported.includes("add learner demo-5") && !reported.includes("leave demo-5"));
});

test("a database far above its quota is left as it is: liveness would end the member half way (H12)", () => {
  const world = fragmented(7 * 1024 * MIB, 1024 * MIB, { options: { quotaBackendBytes: "1Gi" } });
  const { act, holds, converged } = decide(world);
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.deepEqual(
    holds.map(({ reason }) => reason),
    ["TooLarge", "TooLarge", "TooLarge"],
  );
  const roomy = fragmented(7 * 1024 * MIB, 1024 * MIB, {
    options: { quotaBackendBytes: "8Gi" },
    storage: { size: "20Gi" },
  });
  assert.equal(decide(roomy).act?.action.kind, "Defragment");
});

test("outside the window it waits for the window, and the cluster is at rest", () => {
  const world = fragmented(400 * MIB, 100 * MIB, {
    maintenance: { defrag: { window: { start: "02:00", duration: "1h" } } },
  });
  const { act, converged, lookAgainAt } = decide(world);
  assert.equal(act, undefined);
  assert.ok(converged);
  assert.equal(new Date(lookAgainAt ?? 0).toISOString().slice(11, 16), "02:00");
});

const RUNS = { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 200) };
const always = (holds: (o: Observation) => void) => fc.assert(fc.property(arbitraryObservation, holds), RUNS);
const three = healthy();
const NAMES = ["demo-1", "demo-2", "demo-3"];

/** The limits: more than 100 MiB free, and more than half. */
function withFreePages(o: Observation, size: number, used: number): Observation {
  return o.members.reduce(
    (all, facts) => answering(all, facts.record.name, { dbSize: size, dbSizeInUse: used }),
    edit(o, {
      options: { quotaBackendBytes: "2Gi" },
      maintenance: { defrag: { freeAbove: "100Mi", ratioAbove: 0.5 } },
    }),
  );
}
const HOUR = 3_600_000;

test("free pages are given back and data is compared only while every member is healthy (R29)", () => {
  always((o) => {
    const view = viewOf(o);
    if (view.members.every((member) => member.healthy || hasLeft(view, member))) return;
    assert.deepEqual(says(compareHashes, o), []);
    assert.deepEqual(says(defragment, o), []);
  });
});

test("free pages are given back above both limits, followers first, and each member rests ten minutes after", () => {
  assert.deepEqual(says(defragment, withFreePages(three, 300 * MIB, 100 * MIB)), [
    "maintain: defragment demo-2",
  ]);
  assert.deepEqual(
    says(defragment, withFreePages(three, 200 * MIB, 100 * MIB)),
    [],
    "exactly half is not more",
  );
  assert.deepEqual(
    says(defragment, withFreePages(three, 150 * MIB, 50 * MIB)),
    [],
    "exactly 100 MiB neither",
  );
  assert.deepEqual(says(defragment, withFreePages(three, 0, 0)), []);
  const rested = (ms: number, ...names: string[]) => {
    const o = withFreePages(three, 300 * MIB, 100 * MIB);
    return { ...o, etcd: { ...o.etcd, defragmentedAt: Object.fromEntries(names.map((n) => [n, NOW - ms])) } };
  };
  assert.deepEqual(says(defragment, rested(0, "demo-2")), ["maintain: defragment demo-3"]);
  assert.deepEqual(says(defragment, rested(0, "demo-2", "demo-3")), ["maintain: defragment demo-1"]);
  assert.deepEqual(says(defragment, rested(599_999, ...NAMES)), []);
  assert.deepEqual(says(defragment, rested(600_000, ...NAMES)), ["maintain: defragment demo-2"]);
});

test("nobody is defragmented while somebody joins, leaves or is down, or where it is turned off", () => {
  const full = withFreePages(three, 300 * MIB, 100 * MIB);
  assert.deepEqual(says(defragment, exited(full, "demo-3")), []);
  assert.deepEqual(says(defragment, record(full, "demo-3", { joined: false })), []);
  const leaving = { reason: "it goes", volume: "Retain" } as const;
  assert.deepEqual(says(defragment, record(full, "demo-3", { leaving })), []);
  const off = edit(full, {
    maintenance: { defrag: { ...full.cluster.spec.maintenance.defrag, auto: false } },
  });
  assert.deepEqual(says(defragment, off), []);
});

test("a learner with many free pages is made anew, at most once a day (H8)", () => {
  const grown = withFreePages(run(edit(three, { learners: 1 })), 20 * MIB, 10 * MIB);
  const bloated = answering(grown, "demo-4", { dbSize: 300 * MIB, dbSizeInUse: 100 * MIB });
  const made = (ms: number) => record(bloated, "demo-4", { createdAt: bloated.now - ms });
  assert.deepEqual(says(defragment, made(24 * HOUR)), ["maintain: leave demo-4"]);
  assert.deepEqual(says(defragment, made(24 * HOUR - 1)), []);
});

test("a database whose defragmentation would outlast the patience of liveness is not begun with (H12)", () => {
  const options = { quotaBackendBytes: "2Gi" };
  // Three times fifteen seconds a GiB, and at least ninety seconds: a quota of 2 GiB is just at both.
  assert.equal(livenessPatienceMs(options), 90_000);
  assert.equal(livenessPatienceMs({ quotaBackendBytes: "8Gi" }), 360_000);
  assert.equal(mayDefragment(options, 2 * 1024 ** 3), true);
  assert.equal(mayDefragment(options, 2 * 1024 ** 3 + 1024), false);
  assert.deepEqual(says(defragment, withFreePages(three, 3 * 1024 ** 3, MIB)), [
    "TooLarge",
    "TooLarge",
    "TooLarge",
  ]);
  const mixed = answering(withFreePages(three, 3 * 1024 ** 3, MIB), "demo-3", { dbSize: 300 * MIB });
  assert.deepEqual(says(defragment, mixed), ["maintain: defragment demo-3"]);
});
