/** A new leader whose caches are behind what the leader before it wrote: it waits for them before it does anything. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { judgeReadiness } from "../../src/operator/serve/health.ts";
import { eventually } from "../../testbed/eventually.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import { HookedTransport } from "../support/hooked-transport.ts";
import { ClusterOnBed, startOneLife, upWithDefinitions, writes, type Running } from "../support/operator.ts";

let bed: TestTestbed;
const running: Running[] = [];

before(async () => {
  bed = await upWithDefinitions();
});

after(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await bed?.down();
});

test("a new leader acts only when its caches have caught up, and then goes on with what was begun", async (t) => {
  const former = startOneLife(bed, { identity: "former" });
  running.push(former);
  const cluster = new ClusterOnBed(bed, "demo");
  await cluster.create({ replicas: 1 });
  await cluster.converged(1);

  const transport = new HookedTransport(bed);
  const next = startOneLife(bed, { identity: "next", transport });
  running.push(next);
  await next.operator.whenSynced();
  transport.keepNews();
  await cluster.edit({ replicas: 3 });
  await eventually("the former leader adds a member", () =>
    former.steps.some((step) => step.startsWith("AddLearner demo-2")),
  );
  assert.equal(await former.stop(), "stopped");

  // Without the record of demo-2 it would take the member in etcd's list for a ghost, and remove it.
  await eventually("the next one leads and waits", () => (next.operator.catchingUp?.forMs ?? 0) > 3_000);
  assert.ok(next.operator.leads);
  assert.ok(next.operator.catchingUp?.resources.includes("etcdmembers"));
  assert.equal(next.steps.length, 0, next.steps.join("\n"));
  assert.deepEqual(writes(next.calls), []);
  const late = { forMs: 11_000, resources: next.operator.catchingUp?.resources ?? [] };
  assert.equal(judgeReadiness(next.operator.caches(), undefined, late).ok, false);

  transport.passNews();
  await eventually("it has caught up", () => next.operator.catchingUp === undefined);
  await cluster.converged(3);
  await cluster.assertSound(3);
  assert.ok(!next.steps.some((step) => step.startsWith("RemoveFromEtcd")), next.steps.join("\n"));

  // With nothing held back it takes no time that anybody would notice.
  assert.equal(await next.stop(), "stopped");
  const third = startOneLife(bed, { identity: "third" });
  running.push(third);
  const caught = () => third.log.find((line) => line.includes("caught up with the API server in"));
  await eventually("the third has taken over", caught);
  t.diagnostic(caught() ?? "");
  await cluster.edit({ replicas: 1 });
  await cluster.converged(1);
  assert.ok(Math.abs(third.operator.clockAheadMs ?? Infinity) < 2_000, "one machine, one clock");
  await cluster.close();
});
