import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdClusterStatusSchema } from "../../api/etcd-cluster-status.ts";
import { etcdMemberStatusSchema } from "../../api/etcd-member.ts";
import { fitCluster, fitMember } from "./fit-status.ts";

const long = "é".repeat(40_000);
const condition = {
  type: "Ready",
  status: "False" as const,
  reason: "Waiting",
  message: long,
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

test("whatever is said, the resource definition takes it", () => {
  const plan = [{ step: "Promote", text: long, waitingFor: long }];
  const warnings = Array.from({ length: 40 }, () => long);
  const cluster = fitCluster({ message: long, conditions: [condition], plan, warnings });
  assert.ok(etcdClusterStatusSchema.safeParse(cluster).success);
  assert.ok(etcdMemberStatusSchema.safeParse(fitMember({ message: long, conditions: [condition] })).success);
  assert.ok(cluster.message?.endsWith("…"));
});

test("what fits is left as it is", () => {
  const conditions = [{ ...condition, message: "well" }];
  const status = { message: "Healthy.", conditions, plan: [], warnings: ["spec.replicas: even"] };
  assert.deepEqual(fitCluster(status), status);
});
