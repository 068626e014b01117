/**
 * The operator makes clusters: of one, three and five members, with TLS, on real etcd in Pods of the stand-in kubelet.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { secretNames } from "../../src/operator/names.ts";
import type { TestTestbed } from "../../testbed/for-tests.ts";
import {
  ClusterOnBed,
  startOperator,
  upWithDefinitions,
  writes,
  type Running,
} from "../support/operator.ts";

let bed: TestTestbed;
let running: Running;

before(async () => {
  bed = await upWithDefinitions();
  running = startOperator(bed);
});

after(async () => {
  await running?.stop();
  await bed?.down();
});

test("three members with TLS: three voters, one leader, one cluster ID, equal copies", async () => {
  const cluster = new ClusterOnBed(bed, "three", running);
  const from = running.calls.length;
  const began = Date.now();
  await cluster.create({ replicas: 3 });
  await cluster.waitFor("Available");
  const available = Date.now() - began;
  const status = await cluster.converged(3);
  console.log("available after", available, "converged after", Date.now() - began);
  const made = writes(running.calls.slice(from));
  const table = Map.groupBy(made, ({ verb, resource, status: code }) => `${verb} ${resource} ${code}`);
  console.log("writes", made.length, [...table].map(([k, v]) => `${k}: ${v.length}`).join(", "));
  console.log(running.steps.join("\n"));
  assert.equal(status.clientSecret, secretNames("three").client);
  await cluster.assertSound(3);
  await cluster.close();
});
