/** The real controller, loop and local platform, on a machine that is only modelled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeEntry } from "../../src/control/transcript.ts";
import { enumerate } from "../driver/enumerate.ts";
import { machineWorld } from "./enumerate.ts";
import { machineRun } from "./random-run.ts";
import { MachineSimulation } from "./simulation.ts";

async function reported(seed: number): Promise<string[]> {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed });
  await sim.settle();
  return sim.steps.map((step) => `${step.at} ${describeEntry(step)}`);
}

test("the same seed gives the same run of the product, to the millisecond", async () => {
  assert.deepEqual(await reported(3), await reported(3));
  assert.notDeepEqual(await reported(3), await reported(4));
});

test("three TLS members are created, and then nothing is written (I7)", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  assert.equal(sim.converged, true);
  const { writes } = sim.disk;
  await sim.pass(300_000);
  assert.equal(sim.disk.writes, writes);
  assert.deepEqual(sim.troubles, []);
  assert.ok(sim.ledger.acknowledged > 250);
});

test("a controller that is killed is followed by one that adopts the members", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const before = sim.world.network.all().map((server) => server.key);
  sim.kill();
  await sim.settle();
  assert.deepEqual(
    sim.world.network.all().map((server) => server.key),
    before,
  );
  assert.equal(sim.deaths.length, 1);
});

test("a frozen member is ended by the liveness check and comes back", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  const frozen = sim.processes.server("demo-2");
  assert.ok(frozen);
  sim.world.freeze(frozen);
  await sim.pass(150_000);
  await sim.settle();
  assert.equal(sim.processes.server("demo-2") === frozen, false);
  assert.equal(sim.converged, true);
});

test("while paused, a member that is killed is started again, and no member is made", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  await sim.edit({ paused: true, replicas: 5 });
  await sim.pass(10_000);
  const killed = sim.processes.server("demo-2");
  assert.ok(killed);
  sim.world.signal(killed, "SIGKILL");
  await sim.pass(60_000);
  const again = sim.processes.server("demo-2");
  assert.ok(again && again !== killed);
  assert.equal(sim.latest?.status.phase, "Paused");
  assert.equal(sim.world.network.all().length, 3);
});

/** Before each commit; the others are in killed.test.ts. */
const sampled = ["create 3", "replace a wiped member"];

for (const scenario of machineWorld.scenarios.filter(({ name }) => sampled.includes(name))) {
  test(`${scenario.name}: the product may be killed after any write (a few of them here)`, async () => {
    const { failures, plans } = await enumerate(machineWorld, scenario, 1, 31);
    assert.deepEqual(failures, []);
    assert.ok(plans >= 2);
  });
}

test("all members wiped at once: the loss is reported, and no empty cluster is made (I3)", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  for (const server of sim.world.network.all()) await sim.disk.remove(server.config.dataDir);
  for (const server of sim.world.network.all()) sim.world.signal(server, "SIGKILL");
  await sim.settle();
  const reasons = sim.latest?.decision.holds.map((hold) => hold.reason) ?? [];
  assert.ok(reasons.includes("DataGone"), reasons.join(", "));
  assert.deepEqual(sim.world.network.all(), []);
});

test("a rescue that drops what the survivor had not heard to be committed is caught", async () => {
  const sim = await MachineSimulation.create({ replicas: 3, version: "3.6.16" }, { seed: 1 });
  await sim.settle();
  await sim.pass(20_000);
  const whole = sim.rescues.rescuedKeys;
  sim.rescues.rescuedKeys = (dir) => whole(dir).slice(0, -1);
  for (const name of ["demo-2", "demo-3"]) {
    const server = sim.processes.server(name);
    await sim.disk.remove(sim.files.volume(name).data);
    if (server) sim.world.signal(server, "SIGKILL");
  }
  await sim.settle();
  const approve = sim.latest?.status.recovery?.plan ?? "";
  await sim.operations.create("recover", { cluster: "demo", recoverQuorum: { approve } });
  await assert.rejects(sim.settle(), /was not rescued/);
});

test("recovery.quorumLoss Automatic: two of three are wiped, and the survivor is taken without a person", async () => {
  const recovery = { quorumLoss: "Automatic", maxLostRevisions: 1_000 } as const;
  const repair = { unhealthyAfter: "30s", memberLostAfter: "1m" };
  const spec = { replicas: 3, version: "3.6.16", recovery, repair };
  const sim = await MachineSimulation.create(spec, { seed: 1 });
  await sim.settle();
  await sim.pass(20_000);
  for (const name of ["demo-2", "demo-3"]) {
    const server = sim.processes.server(name);
    await sim.disk.remove(sim.files.volume(name).data);
    if (server) sim.world.signal(server, "SIGKILL");
  }
  await sim.pass(90_000);
  await sim.settle();
  const { operations } = await sim.operations.list();
  assert.deepEqual(
    operations.map(({ metadata, status }) => [metadata.name.slice(0, 10), status?.phase]),
    [["demo-auto-", "Succeeded"]],
  );
  assert.equal(sim.latest?.status.recovery, undefined);
});

const IS_FAST = process.env["QUORATE_FAST"] === "1";
const SEEDS = IS_FAST ? 2 : 5;

test(`${SEEDS} random runs of the product keep every invariant and come to rest`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violation, trace } = await machineRun(seed);
    assert.equal(violation, undefined, trace.slice(-40).join("\n"));
  }
});
