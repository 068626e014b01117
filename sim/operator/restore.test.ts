/** A cluster that starts from a snapshot, by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lacksRestored, RESTORED_KEYS } from "../models/etcd/restored.ts";
import { items, json } from "../models/kube/object.ts";
import { OperatorSimulation } from "./simulation.ts";

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
