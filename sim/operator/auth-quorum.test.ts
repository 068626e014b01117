/** Auth where a quorum is lost: the operator sees what etcd lets it see, harms nobody, and works on afterwards. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterSpecInput } from "../../src/api/etcd-cluster-spec.ts";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { approveRecovery, loseQuorum, recoveryPlan } from "./approved.ts";
import { wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { OperatorSimulation } from "./simulation.ts";

const AUTH = { enabled: true, clientRoles: [] };
const LOGINS: readonly (readonly [string, EtcdClusterSpecInput["tls"]])[] = [
  ["certificate", {}],
  ["password", { mode: "Disabled" }],
];
/** Longer than a token of etcd's is good for. */
const OUTAGE_MS = 10 * 60_000;

async function begun(seed: number, tls: EtcdClusterSpecInput["tls"]): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16", tls, auth: AUTH }, { seed });
  await sim.settle();
  await sim.pass(20_000);
  assert.deepEqual(wrongWith(sim), []);
  return sim;
}

const isAuthOn = (sim: OperatorSimulation) =>
  sim.env
    .members()
    .flatMap(({ metadata }) => sim.env.pods.server(metadata.name) ?? [])
    .every(({ dir }) => dir.state.auth.enabled);
const quorate = ({ env }: OperatorSimulation) =>
  (env.cluster()?.["status"] as EtcdClusterStatus | undefined)?.conditions?.find(
    ({ type }) => type === "Quorate",
  )?.status;

for (const [index, [by, tls]] of LOGINS.entries()) {
  test(`an operator that logs in by ${by} waits for the quorum, also a new one, and works on when it is back`, async () => {
    const sim = await begun(71 + index, tls);
    const { network } = sim.env.world;
    const pods = () => sim.env.memberPods().map(({ metadata }) => metadata.uid);
    const before = pods();
    sim.harm();
    // Every member answers, and none has another one to agree with.
    network.cut("demo-1", "demo-2");
    network.cut("demo-1", "demo-3");
    network.cut("demo-2", "demo-3");
    await sim.pass(OUTAGE_MS / 2);
    assert.equal(quorate(sim), "False");
    for (const { life } of sim.seats) life?.cut("killed");
    await sim.pass(OUTAGE_MS / 2);
    assert.equal(quorate(sim), "False");
    assert.deepEqual(pods(), before, "nobody is restarted or replaced without a quorum");
    network.heal();
    await sim.settle();
    assert.deepEqual(wrongWith(sim), []);
    new Moves(sim).perform({ do: "edit", change: { options: { snapshotCount: 5_000 } } });
    await sim.settle();
    assert.deepEqual(wrongWith(sim), []);
    assert.ok(isAuthOn(sim));
  });

  test(`two of three are wiped while the operator logs in by ${by}: the approved recovery keeps auth and its users`, async () => {
    const sim = await begun(73 + index, tls);
    loseQuorum(sim);
    const plan = await recoveryPlan(sim);
    approveRecovery(sim, plan);
    await sim.settle();
    assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
    assert.equal(sim.converged, true, sim.whyNot());
    assert.deepEqual(wrongWith(sim), []);
    assert.ok(isAuthOn(sim));
    for (const { metadata } of sim.env.members()) {
      const auth = sim.env.pods.server(metadata.name)?.dir.state.auth;
      assert.deepEqual(auth?.users.get("quorate-operator")?.roles, ["root"]);
    }
  });
}
