/** Guided runs: the same session twice is the same to the byte, guidance reaches more, and what failed once stays mended. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import type { Kept } from "../kept-file.ts";
import { replay, shrinkKept } from "../kept.ts";
import { SEEDS } from "../operator/shrink.ts";
import { SeededRandom } from "../engine/random.ts";
import { operatorGame, rulesGame } from "./games.ts";
import { rulesScheduleOf, type RulesSchedule } from "./rules-schedule.ts";
import { search, type Game } from "./search.ts";

test("a session is a function of its seed and its number of runs, and so is what it found", async () => {
  const session = () => search(rulesGame, { seed: 3, runs: 4 });
  const [first, second] = [await session(), await session()];
  assert.deepEqual(first, second);
  assert.equal(first.guided.runs, 4);
  assert.deepEqual([first.guided.failed, first.plain.failed], [[], []]);
});

/** Runs that cost nothing: what is reached is which events follow which. */
const pairs: Game<RulesSchedule> = {
  ...rulesGame,
  play: (schedule) => {
    const causes = rulesGame.causes(schedule);
    const features = causes.slice(1).map((cause, index) => `after ${causes[index]} under ${cause}`);
    return Promise.resolve({ features: new Set(features), violation: undefined, events: 0, passes: 0 });
  },
};

test("schedules that reached something new lead to more that is new than as many drawn at random", async () => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { guided, plain } = await search(pairs, { seed, runs: 60 });
    const ratio = guided.features.length / plain.features.length;
    assert.ok(ratio > 1.1, `seed ${seed}: ${guided.features.length} beside ${plain.features.length}`);
  }
});

test("so it is with runs of the rules: in one session, more by guidance than in as many plain runs", async () => {
  const { guided, plain } = await search(rulesGame, { seed: 3, runs: 12 });
  const [more, less] = [guided.features.length, plain.features.length];
  assert.ok(more > less, `${more} features beside ${less}`);
});

test("schedules are changed in every way, and stay schedules", () => {
  const random = new SeededRandom(1);
  let schedule = operatorGame.draw(1);
  const seen = new Set<number>();
  for (let i = 0; i < 200; i++) {
    schedule = operatorGame.mutate(schedule, operatorGame.draw(i + 2), random);
    seen.add(schedule.moves.length);
    assert.ok(schedule.moves.length <= 10 && schedule.effects.length <= 8);
    assert.deepEqual(JSON.parse(JSON.stringify(schedule)), schedule);
  }
  assert.ok(seen.size >= 5);
});

test("what guidance found once is not found again", async () => {
  const files = (await readdir(SEEDS)).filter((file) => file.startsWith("rules-"));
  assert.ok(files.length > 0);
  for (const file of files) {
    const kept = JSON.parse(await readFile(new URL(file, SEEDS), "utf8")) as Kept;
    const { violation, trace } = await replay(kept);
    assert.equal(violation, undefined, `${file} (${kept.found}):\n${trace.slice(-40).join("\n")}`);
  }
});

test("a schedule that does not fail is not made smaller", async () => {
  const kept: Kept = {
    kind: "rules",
    found: "",
    schedule: { ...rulesScheduleOf(2), moves: [], effects: [] },
  };
  assert.equal(await shrinkKept(kept), undefined);
});
