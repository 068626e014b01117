import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../api/etcd-cluster-status.ts";
import { viewOf } from "../../core/view.ts";
import { healthy } from "../../core/testing/cluster.ts";
import { Reporter } from "./report.ts";

function statusOf(available: "True" | "False"): EtcdClusterStatus {
  const condition = { type: "Available", status: available, reason: "Any", message: "" };
  return { conditions: [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }] };
}

function world(before: EtcdClusterStatus | undefined) {
  const written: string[] = [];
  const client = {
    patchStatus: (_: unknown, { name }: { name: string }) => Promise.resolve(written.push(name)),
  };
  const object = { metadata: { name: "demo", uid: "u" }, status: before };
  const stores = { cluster: () => object, member: () => undefined };
  const clock = { monotonic: () => 1_000, now: () => 1_000 };
  const reporter = new Reporter(client as never, stores as never, clock as never, "default/demo");
  const seen = healthy();
  const view = (opened: boolean) => viewOf({ ...seen, platform: { ...seen.platform, opened } });
  const report = (status: EtcdClusterStatus, opened = true) => reporter.report(status, view(opened), true);
  return { written, report };
}

test("between two steps nothing is written", async () => {
  for (const [before, after] of [
    ["True", "True"],
    ["True", "False"],
    ["False", "False"],
  ] as const) {
    const { written, report } = world(statusOf(before));
    await report({ ...statusOf(after), message: "another" });
    assert.deepEqual(written, [], `${before} to ${after}`);
  }
});

test("that clients may come is written at once, also while the next step follows", async () => {
  const { written, report } = world(statusOf("False"));
  await report(statusOf("True"), false);
  assert.deepEqual(written, [], "not before their Service is there");
  await report(statusOf("True"));
  assert.deepEqual(written, ["demo"]);
});

test("what an older definition drops is not written again and again, and is told with the fields", async () => {
  let now = 1_000;
  let isOld = true;
  const writes: object[] = [];
  const object: { metadata: object; status: EtcdClusterStatus } = {
    metadata: { name: "demo", uid: "u" },
    status: {},
  };
  const client = {
    patchStatus: (_: unknown, __: unknown, patch: EtcdClusterStatus) => {
      const { message: _message, ...rest } = { ...object.status, ...patch };
      writes.push(patch);
      object.status = isOld ? rest : { ...object.status, ...patch };
      return Promise.resolve(object);
    },
  };
  const stores = { cluster: () => object, member: () => undefined };
  const clock = { monotonic: () => now, now: () => now };
  const reporter = new Reporter(client as never, stores as never, clock as never, "default/demo");
  const view = viewOf({ ...healthy(), members: [] });
  const report = async (message: string) => {
    await reporter.report({ ...statusOf("True"), message }, view, false);
    await reporter.report({ ...statusOf("True"), message }, view, false);
    now += 5_000;
  };
  await report("first");
  await report("first");
  assert.deepEqual([writes.length, reporter.settled], [1, true]);
  assert.match(reporter.warnings.join(), /older than the operator and drop status\.message: apply/);
  await report("second");
  await report("second");
  assert.equal(writes.length, 2);
  // The definition was replaced: it is noticed without anything else to tell.
  isOld = false;
  now += 600_000;
  await report("second");
  assert.deepEqual([writes.length, object.status.message, reporter.warnings], [3, "second", []]);
  await report("second");
  assert.equal(writes.length, 3);
});
