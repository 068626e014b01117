/** `restore` on a target in memory: nothing but the plan that was read is approved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pointPlan, restorePlan } from "../../core/assess/restore-plan.ts";
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

test("nodes that were said to be off are a part of the plan, and of what is created", async () => {
  const { target, plan } = running();
  const nodes = ["--node-off node-c", "--node-off node-b"].join(" ");
  const without = await command(target, `${LINE} ${nodes} --plan ${plan} --yes`);
  assert.equal(without.code, 5, "it is another plan");
  const [{ metadata, spec } = demo()] = target.objects;
  const planned = { uid: metadata.uid ?? "", clusterID: "c0ffee", version: spec.version };
  const both = restorePlan({ ...planned, nodesOff: ["node-b", "node-c"] }, { source: SOURCE });
  const { code, err } = await command(target, `${LINE} ${nodes} --plan ${both} --yes`);
  assert.equal(code, 0, err);
  assert.match(err, /only if node-c, node-b are off\./);
  const nodesOff = ["node-c", "node-b"];
  assert.deepEqual(target.created[0]?.spec["restore"], { source: SOURCE, nodesOff, approve: both });
});

test("on Kubernetes a name is that of an EtcdSnapshot, whose place and checksum are part of the plan", async () => {
  const { target } = running();
  const checksum = "a".repeat(64);
  const destination = { s3: { bucket: "backups", credentialsSecret: "store" } };
  const status = { phase: "Succeeded", uri: "s3://backups/prod/demo.db", sha256: checksum };
  target.snapshots.set("nightly", {
    metadata: { name: "nightly" },
    spec: { cluster: "demo", destination },
    status,
  });
  const source = { s3: { ...destination.s3, key: "prod/demo.db" } };
  const [{ metadata, spec, status: seen } = demo()] = target.objects;
  const { uid = "" } = metadata;
  const clusterID = seen?.clusterID;
  const plan = restorePlan(
    { uid, clusterID, version: spec.version },
    { snapshot: "nightly", source, checksum },
  );
  const { code, err } = await command(target, `restore nightly demo --plan ${plan} --yes`);
  assert.equal(code, 0, err);
  assert.match(err, /by EtcdSnapshot nightly \(s3:\/\/backups\/prod\/demo\.db\)/);
  assert.deepEqual(target.created[0]?.spec["restore"], { snapshot: "nightly", approve: plan });
  const unknown = await command(target, `restore weekly demo --plan ${plan} --yes`);
  assert.equal(unknown.code, 3);
  assert.match(unknown.err, /there is no EtcdSnapshot weekly/);
  assert.equal(
    (await command(target, `restore nightly demo --checksum ${checksum} --plan ${plan} --yes`)).code,
    2,
  );
});

test("on one machine a file that is not there is said at once, and no plan is made of it", async () => {
  const { target: onKubernetes } = running();
  const target = new FakeTarget(onKubernetes.objects, "local");
  const { code, err } = await command(target, "restore /nowhere/none.db demo");
  assert.equal(code, 3, err);
  assert.match(
    err,
    /there is no snapshot \/nowhere\/none\.db\. List what there is: .* snapshot ls \/nowhere\//,
  );
  assert.doesNotMatch(err, /Plan/);
});

test("with --at-time or --at-revision the name is that of a schedule or a folder, and the plan is of the point", async () => {
  const { target } = running();
  const destination = { s3: { bucket: "backups", prefix: "prod", credentialsSecret: "store" } };
  const spec = { cluster: "demo", schedule: "@daily", destination, incremental: {} };
  target.schedules.set("nightly", { metadata: { name: "nightly" }, spec });
  const [{ metadata, spec: { version }, status } = demo()] = target.objects;
  const cluster = { uid: metadata.uid ?? "", clusterID: status?.clusterID, version };
  const time = "2026-11-17T08:29:00.000Z";
  const plan = pointPlan(cluster, { destination, pointInTime: { time } });
  const line = `restore nightly demo --at-time 2026-11-17T09:29:00+01:00`;
  const named = await command(target, `${line} --plan ${plan} --yes`);
  assert.equal(named.code, 0, named.err);
  assert.match(named.err, /by the state at 2026-11-17T08:29:00\.000Z, as recorded in s3:\/\/backups\/prod\//);
  const asked = { pointInTime: { time, schedule: "nightly" }, approve: plan };
  assert.deepEqual(target.created[0]?.spec["restore"], asked);
  const folder = "restore s3://backups/prod/ demo --credentials-secret store --at-revision 2500";
  const other = pointPlan(cluster, { destination, pointInTime: { revision: 2500 } });
  assert.equal((await command(target, `${folder} --plan ${other} --yes`)).code, 0);
  assert.deepEqual(target.created[1]?.spec["restore"], {
    pointInTime: { revision: 2500, destination },
    approve: other,
  });
  const unknown = await command(target, `restore weekly demo --at-revision 7 --plan ${plan} --yes`);
  assert.equal(unknown.code, 3);
  assert.match(unknown.err, /there is no EtcdSnapshotSchedule weekly: name one, or the folder/);
  for (const wrong of [
    `${line} --at-revision 7`,
    `${line} --checksum ${"a".repeat(64)}`,
    `${line} --key-secret key`,
    "restore nightly demo --at-revision 0",
    "restore nightly demo --at-time yesterday",
    "restore nightly demo --cluster-id abc",
  ])
    assert.equal((await command(target, `${wrong} --plan ${plan} --yes`)).code, 2, wrong);
});
