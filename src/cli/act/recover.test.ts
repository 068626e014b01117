/** `recover quorum` on a target in memory: nothing but the plan that was read is approved. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { command, demo, FakeTarget } from "../testing/fake-target.ts";

const PLAN = "51f0a3c2d4e5b697";

function lost(): FakeTarget {
  const cluster = demo();
  const recovery = {
    plan: PLAN,
    survivor: "demo-2",
    message: "demo-2 would be taken as the whole cluster.",
    revision: { least: 80, most: 90 },
    members: [{ name: "demo-2", data: "Found" as const, term: 3, index: 100 }],
  };
  const target = new FakeTarget([{ ...cluster, status: { ...cluster.status, recovery } }]);
  target.operator = () => undefined;
  return target;
}

test("the plan is shown, and the operation approves just this one", async () => {
  const target = lost();
  const { code, err } = await command(target, `recover quorum demo --plan ${PLAN} --yes`);
  assert.equal(code, 0, err);
  assert.match(err, /Survivor +demo-2/);
  assert.deepEqual(target.created[0]?.spec["recoverQuorum"], { approve: PLAN });
});

test("without a plan, with another one, and without the hash of the one that was read, nothing is created", async () => {
  const none = new FakeTarget();
  const without = await command(none, `recover quorum demo --plan ${PLAN} --yes`);
  assert.equal(without.code, 1);
  assert.match(without.err, /there is no plan for a recovery of demo/);
  const target = lost();
  const other = await command(target, "recover quorum demo --plan 0000000000000000 --yes");
  assert.equal(other.code, 5);
  assert.match(other.err, new RegExp(`the plan is ${PLAN} now`));
  const unread = await command(target, "recover quorum demo --yes");
  assert.equal(unread.code, 2);
  const unasked = await command(target, "recover quorum demo");
  assert.equal(unasked.code, 6);
  assert.deepEqual([...target.created, ...none.created], []);
});

test("the hash of an alternative, or the spec's preference, restores that instead, tied to the plan it replaces", async () => {
  const OTHER = "0123456789abcdef";
  const target = lost();
  const prefer = (preferred: "Survivor" | "Snapshot" | "PointInTime") => {
    target.objects = target.objects.map((cluster) => {
      const { recovery } = cluster.status ?? {};
      if (!recovery) return cluster;
      const snapshot = { name: "nightly-1", revision: 70, plan: OTHER };
      const pointInTime = { schedule: "nightly", revision: 79, plan: "fedcba9876543210" };
      const plan = { ...recovery, preferred, snapshot, pointInTime };
      return { ...cluster, status: { ...cluster.status, clusterID: "c0ffee", recovery: plan } };
    });
  };
  prefer("Survivor");
  const { code, err } = await command(target, `recover quorum demo --plan ${OTHER} --yes`);
  assert.equal(code, 0, err);
  assert.match(
    err,
    /Instead of it, EtcdSnapshot nightly-1 can be restored: revision 70.*plan 0123456789abcdef\./,
  );
  const restore = { snapshot: "nightly-1", recovery: PLAN, approve: OTHER };
  assert.deepEqual(target.created[0]?.spec["restore"], restore);
  prefer("PointInTime");
  const shown = await command(target, "recover quorum demo --dry-run");
  assert.match(
    shown.err,
    /Preferred by spec\.recovery\.prefer, what EtcdSnapshotSchedule nightly has recorded/,
  );
  assert.equal((await command(target, "recover quorum demo --plan fedcba9876543210 --yes")).code, 0);
  assert.deepEqual(target.created.at(-1)?.spec["restore"], {
    pointInTime: { revision: 79, schedule: "nightly", clusterID: "c0ffee" },
    recovery: PLAN,
    approve: "fedcba9876543210",
  });
  assert.equal((await command(target, `recover quorum demo --plan ${PLAN} --yes`)).code, 0);
  assert.deepEqual(target.created.at(-1)?.spec["recoverQuorum"], { approve: PLAN });
});

test("a plan that is good only with nodes off is approved by who names exactly these", async () => {
  const target = lost();
  const nodesOff = [
    { name: "node-b", silentSince: "2026-05-04T10:00:00Z", members: ["demo-1"] },
    { name: "node-c", members: ["demo-3"] },
  ];
  target.objects = target.objects.map((cluster) => {
    const { recovery } = cluster.status ?? {};
    return recovery
      ? { ...cluster, status: { ...cluster.status, recovery: { ...recovery, nodesOff } } }
      : cluster;
  });
  const call = `recover quorum demo --plan ${PLAN} --yes`;
  const unnamed = await command(target, call);
  assert.equal(unnamed.code, 5);
  assert.match(unnamed.err, /Only if off +node-b \(demo-1; silent since 2026-05-04T10:00:00Z\)/);
  assert.match(unnamed.err, / {2}node-c \(demo-3; silent\)/);
  assert.match(unnamed.err, /recover quorum demo.* --node-off node-b --node-off node-c/);
  const half = await command(target, `${call} --node-off node-c`);
  assert.equal(half.code, 5);
  const other = await command(target, `${call} --node-off node-b,node-c,node-d`);
  assert.equal(other.code, 5);
  assert.match(other.err, /does not need node-d to be off/);
  assert.equal(target.created.length, 0);
  const named = await command(target, `${call} --node-off node-b --node-off node-c`);
  assert.equal(named.code, 0, named.err);
  assert.deepEqual(target.created[0]?.spec["recoverQuorum"], {
    approve: PLAN,
    nodesOff: ["node-b", "node-c"],
  });
});

test("nodes that no plan asks for are not passed on", async () => {
  const target = lost();
  const { code, err } = await command(target, `recover quorum demo --plan ${PLAN} --yes --node-off node-b`);
  assert.equal(code, 5);
  assert.match(err, /does not need node-b to be off/);
  assert.deepEqual(target.created, []);
});
