/** Several operators, of which one leads: as processes, killed, stopped and started where it cannot work. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../../testbed/eventually.ts";
import { upForTests, type TestTestbed } from "../../testbed/for-tests.ts";
import { ClusterOnBed, define } from "../support/operator.ts";
import { OperatorProcess } from "../support/operator-process.ts";

let bed: TestTestbed;
const processes: OperatorProcess[] = [];

function start(...args: string[]): OperatorProcess {
  const started = new OperatorProcess(bed, ["--lease-namespace", "default", ...args]);
  processes.push(started);
  return started;
}

before(async () => {
  bed = await upForTests({ kubelet: "process", backoffMs: { first: 200, max: 2_000 } });
});

after(async () => {
  await Promise.all(processes.map((one) => one.end()));
  await bed?.down();
});

test("where the resources are not defined it ends and says what to do", async () => {
  const operator = start();
  assert.equal(await operator.ended(), 1);
  assert.match(operator.words.join("\n"), /does not serve etcd(clusters|members)\.etcd\.quorate\.dev: apply/);
});

test("where nobody answers it ends and says so", async () => {
  const operator = new OperatorProcess({ kubeconfig: "/nowhere/kubeconfig" });
  processes.push(operator);
  assert.equal(await operator.ended(), 1);
  assert.match(operator.words.join("\n"), /no kubeconfig at \/nowhere/);
});

test("wrong options are reported before anything is tried", async () => {
  const operator = start("--namespace", "Not-A-Name");
  assert.equal(await operator.ended(), 2);
  assert.match(operator.words.join("\n"), /not a valid namespace name/);
});

test("the second takes over when the first is killed in the middle of its work, and never before", async (t) => {
  await define(bed);
  const first = start();
  const ledAt = await first.leads();
  t.diagnostic(`leads ${ledAt - first.startedAt} ms after its process was started`);
  const second = start();
  await eventually("the second stands by", () => second.lines.length > 0);
  const cluster = new ClusterOnBed(bed, "demo");
  await cluster.create({ replicas: 3 });
  await eventually("the first works", async () => (await cluster.members()).length > 0);
  first.kill("SIGKILL");
  const killedAt = Date.now();
  const takenAt = await second.leads();
  assert.ok(takenAt > killedAt);
  t.diagnostic(`taken over ${takenAt - killedAt} ms after the kill`);
  await cluster.converged(3);
  await cluster.assertSound(3);
  assert.equal((await cluster.members()).length, 3);
  await cluster.close();
});

test("one that is told to stop hands over at once", async (t) => {
  const second = processes.at(-1);
  assert.ok(second);
  const third = start();
  await eventually("the third stands by", () => third.lines.length > 0);
  second.kill("SIGTERM");
  assert.equal(await second.ended(), 0);
  const stoppedAt = Date.now();
  const takenAt = await third.leads(10_000);
  t.diagnostic(`taken over ${takenAt - stoppedAt} ms after the end`);
  const cluster = new ClusterOnBed(bed, "demo");
  await cluster.edit({ replicas: 1 });
  await cluster.converged(1);
  await cluster.close();
});
