/** Recovery from quorum loss without a person, by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { API_VERSION } from "../../src/api/metadata.ts";
import { lacksRestored, RESTORED_KEYS } from "../models/etcd/restored.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = {
  replicas: 3,
  version: "3.6.16",
  repair: { unhealthyAfter: "30s", memberLostAfter: "1m" },
  recovery: { quorumLoss: "Automatic", maxLostRevisions: 1_000 },
} as const;

type Harm = "wiped" | "damaged";

/** demo-1 keeps what it has. */
async function lostQuorum(seed: number, harm: Readonly<Record<string, Harm>>): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation(SPEC, { seed });
  await sim.settle();
  await sim.pass(20_000);
  wipe(sim, harm);
  return sim;
}

function wipe(sim: OperatorSimulation, harm: Readonly<Record<string, Harm>>): void {
  sim.harm();
  for (const [name, how] of Object.entries(harm)) {
    const [disk, server] = [sim.env.diskOf(name), sim.env.pods.server(name)];
    assert.ok(disk !== undefined && server);
    sim.env.world.signal(server, "SIGKILL");
    const dir = sim.env.disks.of(disk);
    if (how === "wiped") sim.env.disks.wipe(disk);
    else if (dir) dir.unreadable = true;
  }
}

test("two of three are wiped: after the time that they have to come back, the survivor is taken without a person", async () => {
  const sim = await lostQuorum(1, { "demo-2": "wiped", "demo-3": "wiped" });
  await sim.pass(40_000);
  assert.equal(sim.env.recovery.forced, 0, "they have a minute");
  await sim.pass(60_000);
  await sim.settle();
  assert.match(sim.operations.outcomes().join(), /^demo-auto-[0-9a-f]{16}-1 Succeeded Completed$/);
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.env.recovery.forced, 1);
});

test("what may still be somewhere is not given up without a person", async () => {
  const sim = await lostQuorum(2, { "demo-2": "wiped", "demo-3": "damaged" });
  await sim.pass(180_000);
  assert.equal(sim.env.recovery.forced, 0);
  assert.deepEqual(sim.operations.outcomes(), []);
  const status = sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;
  assert.ok(status?.recovery, "the plan is there for a person");
  assert.match(
    JSON.stringify(status),
    /does not approve the plan: it is not proven that the data of demo-3 is gone/,
  );
});

/** One that prefers a snapshot, of which there is one. */
async function preferring(seed: number, verify: boolean): Promise<OperatorSimulation> {
  const recovery = { ...SPEC.recovery, prefer: "Snapshot" as const };
  const sim = new OperatorSimulation({ ...SPEC, recovery }, { seed });
  await sim.settle();
  sim.env.snapshots.clusterID = statusOf(sim)?.clusterID ?? "";
  const metadata = { name: "nightly", namespace: NAMESPACE };
  const spec = { cluster: NAME, destination: { s3: { bucket: "backups" } }, verify };
  const body = { apiVersion: API_VERSION, kind: "EtcdSnapshot", metadata, spec };
  const path = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/etcdsnapshots`;
  assert.equal(sim.user({ method: "POST", path, body }).status, 201);
  await sim.settle();
  await sim.pass(20_000);
  wipe(sim, { "demo-2": "wiped", "demo-3": "wiped" });
  return sim;
}

const statusOf = (sim: OperatorSimulation) => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;

test("with prefer Snapshot the verified snapshot is restored in place, and no survivor is forced", async () => {
  const sim = await preferring(4, true);
  await sim.pass(40_000);
  const { preferred, snapshot } = statusOf(sim)?.recovery ?? {};
  assert.deepEqual([preferred, snapshot?.name], ["Snapshot", "nightly"]);
  assert.deepEqual(sim.operations.outcomes(), [], "they have a minute");
  await sim.pass(60_000);
  await sim.settle();
  assert.match(sim.operations.outcomes().join(), /^demo-auto-[0-9a-f]{16}-1 Succeeded Completed$/);
  assert.equal(sim.env.recovery.forced, 0);
  const { world } = sim.env;
  const leader = world.network.all().find((one) => one.runs && world.raftOf(one).leader === one);
  assert.equal(leader && lacksRestored(leader.dir, RESTORED_KEYS), undefined);
});

test("one that was not verified is left to a person, and the survivor is taken", async () => {
  const sim = await preferring(5, false);
  await sim.pass(100_000);
  await sim.settle();
  assert.match(sim.operations.outcomes().join(), /^demo-auto-[0-9a-f]{16}-1 Succeeded Completed$/);
  assert.equal(sim.env.recovery.forced, 1);
});
