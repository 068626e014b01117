import assert from "node:assert/strict";
import { test } from "node:test";
import { sentencesOf } from "../control/problem.ts";
import type { EtcdSnapshotSchedule } from "../api/etcd-snapshot-schedule.ts";
import type { EtcdSnapshot } from "../api/etcd-snapshot.ts";
import { jobName } from "../core/snapshots/names.ts";
import { layout } from "./layout.ts";
import { LocalSnapshots } from "./snapshots.ts";
import { countingRandom, MemoryDisk, StillClock } from "./testing/memory.ts";
import { FakeProcesses } from "./testing/processes.ts";

const at = layout("/c");
const destination = { file: { path: "/backups" } };
const spec: EtcdSnapshot["spec"] = { cluster: "c", destination };
const hourly: EtcdSnapshotSchedule["spec"] = { cluster: "c", schedule: "@hourly", destination };

function setting() {
  const [disk, processes] = [new MemoryDisk(), new FakeProcesses()];
  const seams = { disk, processes, clock: new StillClock(), random: countingRandom(), env: {} };
  const program = { command: "/bin/quorate", args: [] };
  return { disk, processes, local: new LocalSnapshots(at, { ...seams, program }, () => undefined) };
}

test("a schedule whose file is damaged is told by name: it is not none", async () => {
  const { disk, local } = setting();
  assert.equal(await local.read("c", undefined), undefined);
  await local.schedules.apply("nightly", hourly);
  await disk.write(at.schedule("nightly"), "{");
  const state = await local.read("c", undefined);
  assert.deepEqual([state?.schedules, state?.unreadable?.map(({ name }) => name)], [undefined, ["nightly"]]);
  assert.match(sentencesOf(local.damaged).join(), /nightly\.json is not JSON/);
});

test("a snapshot whose file is damaged is not gone: its process goes on", async () => {
  const { disk, processes, local } = setting();
  await local.snapshots.apply("once", spec);
  const [snapshot] = (await local.read("c", undefined))?.snapshots ?? [];
  assert.ok(snapshot);
  await local.execute({ kind: "StartJob", snapshot, task: "save", attempt: 1, endpoints: ["http://a"] });
  for (let turns = 0; processes.spawned.length < 1 && turns < 100; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  const whole = (await disk.read(at.snapshot("once"))) ?? "";
  await disk.write(at.snapshot("once"), "{");
  await local.read("c", undefined);
  assert.deepEqual(processes.signals, []);
  await disk.write(at.snapshot("once"), whole);
  const [again] = (await local.read("c", undefined))?.snapshots ?? [];
  assert.equal(again?.jobs.length, 1);
});

test("a snapshot is deleted from its store when no process of a killed controller writes it any more", async () => {
  const { processes, local } = setting();
  await local.snapshots.apply("once", spec);
  const [snapshot] = (await local.read("c", undefined))?.snapshots ?? [];
  assert.ok(snapshot);
  const argument = `${at.snapshotJobs}/${jobName(snapshot, "save", 1)}.result`;
  processes.former = { argument, process: processes.process() };
  await local.execute({ kind: "StartJob", snapshot, task: "delete", attempt: 2, endpoints: [] });
  for (let turns = 0; processes.signals.length < 1 && turns < 100; turns++)
    await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([processes.signals, processes.spawned], [["SIGTERM"], []]);
});
