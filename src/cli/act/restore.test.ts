/** `restore` on a target in memory: nothing but the plan that was read is approved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { restorePlan } from "../../core/assess/restore-plan.ts";
import { command, demo, FakeTarget } from "../testing/fake-target.ts";

const SOURCE = { s3: { bucket: "backups", key: "prod/demo.db" } };
const LINE = "restore s3://backups/prod/demo.db demo";

function running(): { target: FakeTarget; plan: string } {
  const cluster = demo();
  const { uid = "" } = cluster.metadata;
  const target = new FakeTarget([{ ...cluster, status: { ...cluster.status, clusterID: "c0ffee" } }]);
  target.operator = () => undefined;
  const { version } = cluster.spec;
  return { target, plan: restorePlan({ uid, clusterID: "c0ffee", version }, { source: SOURCE }) };
}

test("the plan is shown, and the operation approves just this one", async () => {
  const { target, plan } = running();
  const { code, err } = await command(target, `${LINE} --plan ${plan} --yes`);
  assert.equal(code, 0, err);
  assert.match(err, new RegExp(`Plan ${plan}: replace all data of demo .* with etcd 3\\.6\\.16`));
  assert.deepEqual(target.created[0]?.spec["restore"], { source: SOURCE, approve: plan });
});

test("with another plan, without the hash of the one that was read, and unasked, nothing is created", async () => {
  const { target, plan } = running();
  const other = await command(target, `${LINE} --plan 0000000000000000 --yes`);
  assert.equal(other.code, 5);
  assert.match(other.err, new RegExp(`the plan is ${plan} now`));
  const another = await command(target, `${LINE} --checksum ${"a".repeat(64)} --plan ${plan} --yes`);
  assert.equal(another.code, 5, "a checksum is part of the plan");
  assert.equal((await command(target, `${LINE} --yes`)).code, 2);
  assert.equal((await command(target, LINE)).code, 6);
  assert.deepEqual(target.created, []);
});
