/** The real operator under schedules of faults: random ones, those that once found something, and enumerated ones. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Move } from "./deeds.ts";
import { enumerate } from "../driver/enumerate.ts";
import { operatorWorld } from "./enumerate.ts";
import { staysQuiet, wrongWith } from "./judge.ts";
import { Moves } from "./moves.ts";
import { operatorRun, play } from "./random-run.ts";
import { scheduleOf } from "./schedule.ts";
import { minimize, SEEDS, type KeptSchedule } from "./shrink.ts";
import { OperatorSimulation } from "./simulation.ts";

test("random runs of the operator keep every invariant and come to rest", async () => {
  for (const seed of [2, 3, 9]) {
    const { violation, trace } = await operatorRun(seed);
    assert.equal(violation, undefined, trace.slice(-40).join("\n"));
  }
});

test("a schedule is a function of its seed, and so is its run", async () => {
  assert.deepEqual(scheduleOf(7), scheduleOf(7));
  const [first, second] = [await operatorRun(7), await operatorRun(7)];
  assert.deepEqual(first.trace, second.trace);
});

const isOfData = ({ do: what }: Move) => ["snapshot", "drop-snapshot", "restore", "approve"].includes(what);

test("snapshots, restores and recoveries are drawn where they are asked for, and change no other draw", () => {
  for (let seed = 1; seed <= 50; seed++) {
    assert.ok(!scheduleOf(seed).moves.some(isOfData), `seed ${seed}`);
    assert.ok(scheduleOf(seed, ["data"]).moves.some(isOfData), `seed ${seed}`);
    const { moves: plain, ...surroundings } = scheduleOf(seed, ["blind"]);
    const { moves, ...others } = scheduleOf(seed, ["blind", "data"]);
    assert.deepEqual(others, surroundings);
    // Each in its order, with others in between.
    let kept = 0;
    for (const move of moves) if (JSON.stringify(move) === JSON.stringify(plain[kept])) kept++;
    assert.equal(kept, plain.length, `seed ${seed}`);
  }
});

test("a share of the newer seeds has snapshots, restores and recoveries as well", () => {
  const seeds = Array.from({ length: 200 }, (_, index) => 2_001 + index);
  const share = seeds.filter((seed) => scheduleOf(seed).moves.some(isOfData)).length / seeds.length;
  assert.ok(share > 0.15 && share < 0.35, `${share}`);
});

test("what was found once is not found again", async () => {
  const files = (await readdir(SEEDS)).filter((file) => file.startsWith("operator-"));
  assert.ok(files.length > 0);
  for (const file of files) {
    const { found, schedule } = JSON.parse(await readFile(new URL(file, SEEDS), "utf8")) as KeptSchedule;
    const { violation, trace } = await play(schedule);
    assert.equal(violation, undefined, `${file} (${found}):\n${trace.slice(-40).join("\n")}`);
  }
});

const sampled: Readonly<Record<string, number>> = {
  "create 3": 12,
  "restore 3 from a snapshot": 53,
  "scale 1 to 3 and back": 61,
  "operation restart": 15,
};

for (const scenario of operatorWorld.scenarios.filter(({ name }) => name in sampled)) {
  test(`${scenario.name}: the operator may fail at any effect, and any cache may be old (a few here)`, async () => {
    const { failures, plans } = await enumerate(operatorWorld, scenario, 1, sampled[scenario.name]);
    assert.deepEqual(failures, []);
    assert.ok(plans >= 10);
  });
}

test("an operator that is cut off from its lease stops before another one begins", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 5, operators: 2 });
  const deeds = new Moves(sim);
  await sim.settle();
  const leading = sim.seats.findIndex(({ name }) => name.startsWith("operator-a"));
  deeds.perform({ do: "operator", fault: "cut-lease", pick: leading, forMs: 60_000 });
  deeds.perform({ do: "edit", change: { replicas: 5 } });
  await sim.settle();
  deeds.end();
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
  await staysQuiet(sim);
});

test("a frozen operator that wakes after its term does nothing that is not its to do (H10)", async () => {
  const sim = new OperatorSimulation({ replicas: 3, version: "3.6.16" }, { seed: 6, operators: 2 });
  const deeds = new Moves(sim);
  await sim.settle();
  deeds.perform({ do: "edit", change: { version: "3.7.3" } });
  await sim.pass(300);
  deeds.perform({ do: "operator", fault: "freeze", pick: 0, forMs: 30_000 });
  await sim.settle();
  assert.equal(sim.converged, true, sim.whyNot());
  assert.deepEqual(wrongWith(sim), []);
});

test("the least part of a list that still fails is found", async () => {
  const fails = (some: readonly number[]) => Promise.resolve(some.includes(3) && some.includes(11));
  assert.deepEqual(await minimize([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], fails), [3, 11]);
});
