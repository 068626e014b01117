import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { HashReport, Observation } from "../observation.ts";
import { NOW, change, healthy } from "../testing/cluster.ts";
import { says } from "../testing/says.ts";
import { compareHashes } from "./compare-hashes.ts";

test("the data of the voters is compared once per interval", () => {
  const world = healthy();
  assert.ok(decide(world).converged);
  const later = { ...world, now: world.now + 3_600_000 };
  assert.equal(decide(later).act?.action.kind, "CompareHashes");
});

test("an interval of zero turns it off, and one voter has nobody to compare with", () => {
  const off = healthy({ maintenance: { hashCheck: { interval: "0s" } } });
  assert.ok(decide({ ...off, now: off.now + 10_000_000 }).converged);
  const single = healthy({ replicas: 1 });
  assert.ok(decide({ ...single, now: single.now + 10_000_000 }).converged);
});

/** demo-2 ended by itself and is back, a minute after the last comparison. */
function cameBack(input: Parameters<typeof healthy>[0]): Observation {
  const world = healthy(input);
  const since = world.now + 60_000;
  const back = change(world, "demo-2", ({ workload }) =>
    workload.state === "running" ? { workload: { ...workload, since, restarts: 1 } } : {},
  );
  return { ...back, now: since + 1_000 };
}

test("a voter that ended by itself is compared once it is back, where etcd does not do that at its start", () => {
  for (const input of [{ version: "3.5.35" }, { options: { corruptCheck: { initial: false } } }]) {
    const world = cameBack(input);
    const { act } = decide(world);
    assert.equal(act?.action.kind, "CompareHashes");
    assert.match(act?.message ?? "", /the process of demo-2 restarted unexpectedly/);
    const hashes = { at: world.now, revision: 1, byMember: {} };
    assert.ok(decide({ ...world, etcd: { ...world.etcd, hashes } }).converged, "once is enough");
  }
  assert.ok(decide(cameBack({ version: "3.6.16" })).converged);
});

test("comparisons have some time between them", () => {
  const world = cameBack({ version: "3.5.35" });
  const soon = { ...world.etcd, hashes: { at: world.now - 5_000, revision: 1, byMember: {} } };
  const justNow = change({ ...world, etcd: soon }, "demo-2", ({ workload }) =>
    workload.state === "running" ? { workload: { ...workload, since: world.now - 1_000 } } : {},
  );
  assert.ok(decide(justNow).converged);
  assert.equal(decide({ ...justNow, now: world.now + 5_000 }).act?.action.kind, "CompareHashes");
});

const three = healthy();
const HOUR = 3_600_000;
const at = (o: Observation, ms: number): Observation => ({ ...o, now: NOW + ms });

const hashed = (o: Observation, hashes: HashReport | undefined): Observation => ({
  ...o,
  etcd: { ...o.etcd, hashes },
});

test("data is compared when its interval is over, not before, and not where there is nobody to compare with", () => {
  const { interval } = three.cluster.spec.maintenance.hashCheck;
  assert.equal(interval, "1h");
  assert.deepEqual(says(compareHashes, at(three, HOUR - 1)), []);
  assert.deepEqual(says(compareHashes, at(three, HOUR)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, hashed(three, undefined)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(healthy({ replicas: 2 }), HOUR)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(healthy({ replicas: 1 }), HOUR)), []);
});

test("a 3.5 voter that ended and is back is compared, ten seconds after the last comparison at the earliest", () => {
  const old = healthy({ version: "3.5.35" });
  const back = (o: Observation, since: number, restarts = 1) =>
    change(o, "demo-2", ({ workload }) => ({
      workload: workload.state === "running" ? { ...workload, since, restarts } : workload,
    }));
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1), 9_999)), []);
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1), 10_000)), ["maintain: compare hashes"]);
  assert.deepEqual(says(compareHashes, at(back(old, NOW), 10_000)), []);
  assert.deepEqual(says(compareHashes, at(back(old, NOW + 1, 0), 10_000)), []);
  assert.deepEqual(
    says(compareHashes, at(back(three, NOW + 1), 10_000)),
    [],
    "3.6 has compared at its start",
  );
});
