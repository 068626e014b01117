/** Recovery from quorum loss by the whole operator on modelled nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EtcdClusterStatus } from "../../src/api/etcd-cluster-status.ts";
import { pods } from "../models/kube/kinds/pod.ts";
import { secrets } from "../models/kube/kinds/simple.ts";
import { json } from "../models/kube/object.ts";
import { approveRecovery, helpers, loseQuorum, recoveryPlan } from "./approved.ts";
import type { EffectPlan } from "./effects.ts";
import { NAME, NAMESPACE } from "./environment.ts";
import { give, GIVEN_TLS } from "./given-world.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const SPEC = { replicas: 3, version: "3.6.16" };
/** One of so many: `npm run sim:enumerate` takes all of them. */
const EVERY = 20;

const statusOf = (sim: OperatorSimulation) => sim.env.cluster()?.["status"] as EtcdClusterStatus | undefined;

async function lostQuorum(
  seed: number,
  spec: object = {},
  effects?: EffectPlan,
  before: (sim: OperatorSimulation) => Promise<void> = async () => {},
): Promise<OperatorSimulation> {
  const sim = new OperatorSimulation({ ...SPEC, ...spec }, { seed, ...(effects && { effects }) });
  await sim.settle();
  await sim.pass(20_000);
  await before(sim);
  loseQuorum(sim);
  return sim;
}

test("two of three are wiped: the plan is told, and the approved one brings back all that the survivor had", async () => {
  const sim = await lostQuorum(1);
  const plan = await recoveryPlan(sim);
  assert.deepEqual(
    statusOf(sim)?.recovery?.members.map(({ data }) => data),
    ["Found", "Lost", "Lost"],
  );
  assert.equal(sim.env.recovery.forced, 0, "nothing is done before a person approves");
  approveRecovery(sim, plan);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  assert.equal(sim.env.recovery.forced, 1);
  await staysQuiet(sim);
  assert.deepEqual(helpers(sim), []);
});

test("the operator may be killed after any effect of a recovery (a few of them here)", async () => {
  const first = await lostQuorum(2);
  const plan = await recoveryPlan(first);
  const from = first.effects.count;
  approveRecovery(first, plan);
  await first.settle();
  const effects = first.effects.count - from;
  assert.ok(effects > 15, `${effects}`);
  for (let nth = 1; nth <= effects; nth += EVERY) {
    const sim = await lostQuorum(2, {}, new Map([[from + nth, "crash-after"]]));
    approveRecovery(sim, await recoveryPlan(sim));
    await sim.settle();
    assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"], `effect ${nth}`);
    assert.deepEqual(wrongWith(sim), [], `effect ${nth}`);
    assert.deepEqual(helpers(sim), [], `effect ${nth}`);
  }
});

test("a wrong plan is refused and changes nothing", async () => {
  const sim = await lostQuorum(3);
  const plan = await recoveryPlan(sim);
  approveRecovery(sim, "0123456789abcdef", "wrong");
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["wrong Rejected PlanChanged"]);
  assert.equal(statusOf(sim)?.recovery?.plan, plan, "it stays as it is");
  assert.equal(sim.env.recovery.forced, 0);
});

test("a plan that is old because a member came back with its data is refused, and that member keeps its data", async () => {
  let back = () => {};
  const sim = await lostQuorum(3, {}, undefined, async ({ env }) => {
    const disk = env.diskOf("demo-3") ?? assert.fail("demo-3 has no disk");
    const dir = env.disks.of(disk) ?? assert.fail("demo-3 has no data");
    back = () => env.disks.putBack(disk, dir);
  });
  const plan = await recoveryPlan(sim);
  back();
  approveRecovery(sim, plan, "old");
  await sim.settle();
  assert.match(sim.operations.outcomes().join(), /^old (Rejected|Failed) (QuorumNotLost|PlanChanged)$/);
  assert.equal(sim.env.recovery.forced, 0);
  assert.equal(statusOf(sim)?.recovery, undefined, "there is nothing to recover from any more");
  assert.ok(sim.env.pods.server("demo-3")?.runs, "it serves with what it had");
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
});

test("a rescue that keeps failing ends the operation, and the members are started again as they were", async () => {
  const sim = await lostQuorum(4);
  const plan = await recoveryPlan(sim);
  sim.env.recovery.failing = 3;
  approveRecovery(sim, plan);
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Failed StepFailed"]);
  assert.ok(sim.env.pods.server("demo-1")?.runs, "the survivor runs again");
  assert.equal(statusOf(sim)?.recovery?.plan, plan, "another approval can try again");
  approveRecovery(sim, plan, "again");
  await sim.settle();
  assert.ok(
    sim.operations.outcomes().includes("again Succeeded Completed"),
    sim.operations.outcomes().join(),
  );
});

test("an etcd that ends in the midst of a rescue is not started on its copy again: another attempt makes its own", async () => {
  const sim = await lostQuorum(8);
  sim.env.recovery.crashing = 1;
  // Sooner than anybody could hear of its end.
  sim.env.pods.restartMs = 10;
  approveRecovery(sim, await recoveryPlan(sim));
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
  assert.equal(sim.env.recovery.forced, 2);
  assert.deepEqual(wrongWith(sim), []);
});

test("HostPath: the first new member starts on the node that has the survivor's directory", async () => {
  const storage = { medium: "HostPath", size: "1Gi", hostPath: "/data" } as const;
  const sim = await lostQuorum(5, { storage });
  const node = sim.env.server.get(pods, `${NAMESPACE}/demo-1`);
  approveRecovery(sim, await recoveryPlan(sim));
  await sim.settle();
  assert.deepEqual(sim.operations.outcomes(), ["recover Succeeded Completed"]);
  const first = sim.env.server.get(pods, `${NAMESPACE}/demo-4`);
  const nodeOf = (pod: typeof first) => (pod?.["spec"] as { nodeName?: string } | undefined)?.nodeName;
  assert.equal(nodeOf(first), nodeOf(node));
});

test("a kubelet that runs etcd a second time on the same copy is caught", async () => {
  const sim = await lostQuorum(6);
  sim.env.recovery.runsTwice = true;
  approveRecovery(sim, await recoveryPlan(sim));
  await assert.rejects(sim.settle(), /ran twice on the same copy/);
});

test("a rescue that drops what the survivor had not heard to be committed is caught", async () => {
  const sim = await lostQuorum(7);
  const whole = sim.env.recovery.rescuedKeys;
  sim.env.recovery.rescuedKeys = (dir) => whole(dir).slice(0, -1);
  approveRecovery(sim, await recoveryPlan(sim));
  await assert.rejects(sim.settle(), /was not rescued/);
});

test("in the midst of a change of peers' TLS: the new life is as asked for, and no former member has its CA", async () => {
  const peerCa = ({ env }: OperatorSimulation) => {
    const data = json(env.server.get(secrets, `${NAMESPACE}/${NAME}-peer-ca`)?.["data"] ?? {});
    return String(data["tls.crt"]);
  };
  for (const [seed, tls] of [
    [31, { peer: { mode: "Disabled" } }],
    [32, { peer: { mode: "Secrets", ...GIVEN_TLS.peer } }],
  ] as const) {
    let before = "";
    const sim = await lostQuorum(seed, {}, undefined, async (world) => {
      await give(world, 1);
      before = peerCa(world);
      assert.ok(world.edit({ tls }));
      await world.pass(8_000);
      // Which member is being restarted by then is a matter of milliseconds: those that are emptied have to run.
      const isDown = (name: string) => world.env.pods.server(name)?.runs !== true;
      while (!world.converged && ["demo-2", "demo-3"].some(isDown)) await world.pass(100);
      assert.equal(world.converged, false, "it is under way");
    });
    approveRecovery(sim, await recoveryPlan(sim));
    await sim.settle();
    assert.equal(sim.converged, true, sim.whyNot());
    assert.deepEqual(wrongWith(sim), []);
    assert.notEqual(peerCa(sim), before);
  }
});
