/** A cluster that starts from a snapshot, by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { API_VERSION } from "../../src/api/metadata.ts";
import { lacksRestored, RESTORED_KEYS } from "../models/etcd/restored.ts";
import { items, json } from "../models/kube/object.ts";
import { etcdSnapshots, NAME, NAMESPACE } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";
import { resultFor } from "./snapshot-pods.ts";

const restoring = (key: string) => ({
  bootstrap: { restore: { source: { s3: { bucket: "backups", key } } } },
});
const SPEC = { replicas: 3, version: "3.6.16", ...restoring("demo.db") };

const leaderOf = ({ env: { world } }: OperatorSimulation) =>
  world.network.all().find((server) => server.runs && world.raftOf(server).leader === server);
const conditions = (sim: OperatorSimulation) =>
  items(json(sim.env.cluster()?.["status"])["conditions"]).map(
    ({ reason, message }) => `${String(reason)}: ${String(message)}`,
  );

test("three members hold what the snapshot held, and restart without another restore", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 1 });
  await sim.settle();
  assert.equal(sim.converged, true);
  const leader = leaderOf(sim);
  assert.ok(leader);
  assert.equal(lacksRestored(leader.dir, RESTORED_KEYS), undefined);
  assert.equal(leader.dir.state.voters().length, 3);
});

test("a snapshot that is not there starts nothing, is said with its field, and an edit begins anew", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 1 });
  sim.env.pods.snapshotFault = "not-found";
  await sim.pass(60_000);
  assert.ok(
    conditions(sim).some((text) => /^RestoreFailed: .*spec\.bootstrap\.restore\.source\.s3\.key/.test(text)),
    conditions(sim).join("\n"),
  );
  assert.equal(sim.env.world.network.all().length, 0);
  sim.env.pods.snapshotFault = undefined;
  sim.edit(restoring("other.db"));
  await sim.settle();
  assert.equal(sim.converged, true);
  const leader = leaderOf(sim);
  assert.equal(leader && lacksRestored(leader.dir, RESTORED_KEYS), undefined);
});

test("a store that comes back needs nobody", async () => {
  const sim = new OperatorSimulation(SPEC, { seed: 2 });
  sim.env.pods.snapshotFault = "unreachable";
  await sim.pass(20_000);
  sim.env.pods.snapshotFault = undefined;
  await sim.settle();
  assert.equal(sim.converged, true);
});

test("a member that is emptied before it has joined never begins an empty cluster: it is restored again", async () => {
  const sim = new OperatorSimulation({ ...SPEC, replicas: 1 }, { seed: 1 });
  const { env } = sim;
  for (let i = 0; i < 2_000 && env.pods.server("demo-1") === undefined; i++) await sim.pass(20);
  const [disk, server] = [env.diskOf("demo-1"), env.pods.server("demo-1")];
  assert.ok(disk !== undefined && server !== undefined);
  assert.equal(env.established(), undefined, "too late for this test");
  sim.harm();
  env.world.signal(server, "SIGKILL");
  env.disks.wipe(disk);
  await sim.settle();
  assert.equal(sim.converged, true);
  const leader = leaderOf(sim);
  assert.ok(leader);
  assert.equal(lacksRestored(leader.dir, RESTORED_KEYS), undefined);
});

test("a cluster that is deleted and starts from the same snapshot again: a watch that continues is compacted", async () => {
  const sim = new OperatorSimulation({ ...SPEC, replicas: 1 }, { seed: 4 });
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdclusters`;
  const metadata = { name: NAME, namespace: NAMESPACE };
  const body = { apiVersion: API_VERSION, kind: "EtcdCluster", metadata, spec: { ...SPEC, replicas: 1 } };
  const reached: number[] = [];
  for (let life = 1; life <= 3; life++) {
    if (life > 1) assert.equal(sim.user({ method: "POST", path, body }).status, 201);
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    const [written, { state }] = [sim.env.ledger.acknowledged, leaderOf(sim)?.dir ?? { state: undefined }];
    await sim.pass(10_000);
    assert.ok(sim.env.ledger.acknowledged > written, "clients write, and watch");
    assert.ok(
      state && state.compactRevision > (reached.at(-1) ?? 0),
      `${reached.join(", ")}, then ${state?.compactRevision}`,
    );
    reached.push(state.revision);
    sim.deleteCluster();
    await sim.settle();
    assert.equal(sim.isGone, true);
  }
});

test("a point in time is built first, the cluster starts from it, and then it is gone with its object", async () => {
  const destination = { s3: { bucket: "backups" } };
  const pointInTime = { revision: 7, destination };
  const sim = new OperatorSimulation({ ...SPEC, bootstrap: { restore: { pointInTime } } }, { seed: 3 });
  await sim.pass(30_000);
  assert.ok(
    conditions(sim).some((text) => /^RestoreFailed: .*restore\.pointInTime.*nothing leads there/i.test(text)),
    conditions(sim).join("\n"),
  );
  assert.equal(sim.env.world.network.all().length, 0, "nobody starts without it");
  // A base appears in the folder, and the point is corrected.
  sim.env.snapshots.store.set("base.db", { id: "base", whole: resultFor("base.db") });
  sim.edit({ bootstrap: { restore: { pointInTime: { ...pointInTime, revision: 8 } } } });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  const leader = leaderOf(sim);
  assert.equal(leader && lacksRestored(leader.dir, RESTORED_KEYS), undefined);
  assert.deepEqual(sim.env.server.list(etcdSnapshots), []);
  assert.deepEqual(sim.env.snapshots.whole, ["base.db"]);
});
