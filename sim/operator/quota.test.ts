/** A full database: what a raised quota does to it, and when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Server } from "../models/etcd/server.ts";
import { wrongWith } from "./judge.ts";
import { OperatorSimulation } from "./simulation.ts";

const MIB = 1024 ** 2;

/** A cluster with `filledMiB` of live data and a client that goes on writing. */
async function filled(quotaBackendBytes: string, filledMiB: number) {
  const spec = { replicas: 3, version: "3.6.16", options: { quotaBackendBytes } } as const;
  const sim = new OperatorSimulation(spec, { seed: 1 });
  await sim.settle();
  const { world, keys, scheduler } = sim.env;
  const put = (key: string, size: number) => {
    const server = world.network.all().find((one) => one.serving && one.runs);
    try {
      if (server) keys.put(server, key, size);
    } catch {
      // Refused: the database is full, or the leader has just gone.
    }
  };
  for (let i = 0; i < filledMiB; i++) put(`big${i}`, MIB);
  const again = () => {
    scheduler.after(50, again);
    put("small", 10);
  };
  again();
  await sim.pass(20_000);
  return sim;
}

const running = (sim: OperatorSimulation): readonly Server[] =>
  sim.env.world.network.all().filter((one) => one.runs);
const count = (lines: readonly string[], step: string) => lines.filter((line) => line.includes(step)).length;

for (const [from, to] of [
  ["16Mi", "64Mi"],
  ["100Mi", "110Mi"],
] as const) {
  test(`a quota raised from ${from} to ${to} is rolled out, and then the alarm is disarmed, once`, async () => {
    const sim = await filled(from, Number.parseInt(from) + 1);
    assert.match(sim.cluster?.status?.message ?? "", new RegExp(`quota ${Number.parseInt(from)} MiB`));
    const mark = sim.lines.length;
    assert.ok(sim.edit({ options: { quotaBackendBytes: to } }));
    let earliest: number | undefined;
    for (let i = 0; i < 600 && earliest === undefined; i++) {
      await sim.pass(100);
      if (count(sim.lines.slice(mark), "Disarm") > 0) {
        const quotas = running(sim).map(({ config }) => config.quotaBytes);
        earliest = Math.min(...quotas);
      }
    }
    assert.equal(earliest, Number.parseInt(to) * MIB, "disarmed when everybody had the new quota");
    await sim.settle();
    const lines = sim.lines.slice(mark);
    assert.equal(count(lines, "StopWorkload"), 3, lines.join("\n"));
    // One for each member that had raised it.
    assert.ok(count(lines, "Disarm") <= 3, lines.join("\n"));
    assert.deepEqual(wrongWith(sim), []);
  });
}
