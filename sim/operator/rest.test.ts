/**
 * One of many clusters at rest: whole looks at it are rare, and what happens without any event of Kubernetes is told
 * within 10 s all the same.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findCondition } from "../../src/core/status/condition.ts";
import { json } from "../models/kube/object.ts";
import { removeByHand } from "../rules/by-hand.ts";
import { etcdClusters } from "./environment.ts";
import { OperatorSimulation } from "./simulation.ts";

const TRUTH_MS = 10_000;
const MANY = 200;

async function rested() {
  const passes: number[] = [];
  const sim: OperatorSimulation = new OperatorSimulation(
    { replicas: 3, version: "3.6.16" },
    { seed: 1, leastClusters: MANY, onPass: () => passes.push(sim.env.scheduler.now) },
  );
  await sim.settle();
  // What is written in passing has been written by then.
  await sim.pass(150_000);
  passes.length = 0;
  return { sim, passes };
}

const ready = (sim: OperatorSimulation) => findCondition(sim.cluster?.status?.conditions, "Ready")?.status;
const leader = (sim: OperatorSimulation) =>
  sim.cluster?.status?.members?.find(({ role }) => role === "Leader")?.name;
const servers = (sim: OperatorSimulation) => sim.env.world.network.all().filter((server) => server.runs);
const follower = (sim: OperatorSimulation) => {
  const found = servers(sim).find((server) => sim.env.world.raftOf(server).leader !== server);
  assert.ok(found);
  return found;
};

test("at rest a whole look is taken every 200 s on average", async () => {
  const { sim, passes } = await rested();
  await sim.pass(300_000);
  assert.ok(passes.length >= 1 && passes.length <= 6, `${passes.length} in five minutes`);
});

const spaceLow = (sim: OperatorSimulation) =>
  findCondition(sim.cluster?.status?.conditions, "SpaceLow")?.reason;

/** All members hold the same data; the file of one also has free pages. */
function fill(sim: OperatorSimulation, share: number, file = share): void {
  for (const { config, dir } of servers(sim)) {
    dir.state.dbSizeInUse = Math.floor(share * config.quotaBytes);
    dir.state.dbSize = Math.max(dir.state.dbSize, dir.state.dbSizeInUse);
  }
  const [, server] = servers(sim);
  if (server) server.dir.state.dbSize = Math.floor(file * server.config.quotaBytes);
}

type Silent = (sim: OperatorSimulation) => (() => boolean) | Promise<() => boolean>;
const silent: Readonly<Record<string, Silent>> = {
  "data that outgrows four fifths of the quota": async (sim) => {
    fill(sim, 0.78);
    await sim.pass(2 * TRUTH_MS);
    assert.equal(spaceLow(sim), "Room");
    fill(sim, 0.85);
    return () => spaceLow(sim) === "DataNearQuota";
  },
  "a file of one member that is nearly as large as the quota": async (sim) => {
    fill(sim, 0.66, 0.94);
    await sim.pass(2 * TRUTH_MS);
    assert.equal(spaceLow(sim), "Room");
    fill(sim, 0.68, 0.96);
    return () => spaceLow(sim) === "FileNearQuota";
  },
  "a member that hangs": (sim) => {
    sim.env.world.freeze(follower(sim));
    return () => ready(sim) !== "True";
  },
  "a member that is removed by hand": (sim) => {
    removeByHand(sim.env.world, sim.env.calls, "demo-3");
    return () => ready(sim) !== "True";
  },
  "a new leader": (sim) => {
    const [before, next] = [leader(sim), follower(sim)];
    sim.env.world.raftOf(next).transfer(next);
    return () => leader(sim) !== before;
  },
  "an alarm": (sim) => {
    const [server] = servers(sim);
    assert.ok(server);
    sim.env.calls.setAlarm(server, server.id, "NOSPACE", true);
    // There is room: it is disarmed rather than told.
    return () => server.dir.state.alarms.size === 0;
  },
};
for (const [what, happen] of Object.entries(silent)) {
  test(`${what} is told, or mended, within 10 s`, async () => {
    const { sim } = await rested();
    assert.equal(ready(sim), "True");
    const isTold = await happen(sim);
    let ms = 0;
    // It may be healed as soon as it was told.
    for (; !isTold() && ms < TRUTH_MS; ms += 100) await sim.pass(100);
    assert.ok(ms > 0 && isTold(), `${ms} ms`);
  });
}

test("with a definition older than the operator the status is written as rarely, and says which fields are dropped", async (t) => {
  const kind = etcdClusters as { decode: (typeof etcdClusters)["decode"] };
  const { decode } = kind;
  t.after(() => Object.assign(kind, { decode }));
  kind.decode = (object) => {
    const { status, ...rest } = decode(object);
    const { certificates: _, ...known } = json(status);
    return status === undefined ? rest : { ...rest, status: known };
  };
  const { sim } = await rested();
  const before = sim.effects.count;
  await sim.pass(300_000);
  assert.deepEqual(sim.effects.names.slice(before), []);
  assert.match(sim.cluster?.status?.warnings?.join("\n") ?? "", /drop status\.certificates: apply/);
});
