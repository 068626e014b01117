/**
 * The controller is killed by SIGKILL right after an effect, again and again: every life does a few effects more and
 * dies, until nothing is left to do. The end must be the same as without any crash. `npm run e2e -- --all` lets every
 * life do one effect only, and then enumerates: for each n a new cluster, one crash after effect n, an undisturbed end.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdOf } from "../support/etcd-cluster.ts";
import {
  cleanUp,
  finish,
  live,
  prepare,
  scenarios,
  type CrashScenario,
  type EndState,
} from "../support/crash-scenarios.ts";
import { EVERY_CASE } from "../support/sample.ts";

/** What the first life and each that gets on may do; the simulator's controller dies after every single one. */
const EFFECTS = EVERY_CASE ? 1 : 6;
/** No scenario has as many effects; more means that lives make no progress. */
const MOST_LIVES = 300;

async function undisturbed(scenario: CrashScenario): Promise<{ end: EndState; effects: number }> {
  const local = await prepare(scenario);
  try {
    const life = await live(local.files.dir, 0);
    assert.ok(!life.died);
    return { end: await finish(local, scenario), effects: life.effects };
  } finally {
    await cleanUp(local);
  }
}

for (const scenario of scenarios) {
  test(`${scenario.name}: a controller that dies after every few effects comes to the same end`, async (t) => {
    await etcdOf("3.6.16");
    await etcdOf("3.7.3");
    const { end, effects } = await undisturbed(scenario);
    const local = await prepare(scenario);
    const died: string[] = [];
    try {
      for (let allowed = EFFECTS; ;) {
        const life = await live(local.files.dir, allowed);
        if (!life.died) break;
        // An effect that only announces the next one is made again by every life: then one more is allowed.
        allowed = life.after === died.at(-1) ? allowed + 1 : EFFECTS;
        died.push(life.after);
        assert.ok(died.length < MOST_LIVES, `no progress: ${died.slice(-10).join(", ")}`);
      }
      assert.deepEqual(await finish(local, scenario), end);
    } finally {
      await cleanUp(local);
    }
    t.diagnostic(`${effects} effects undisturbed; ${died.length} deaths on the way`);
  });

  if (EVERY_CASE) {
    test(`${scenario.name}: one crash after effect n, for every n`, async (t) => {
      const { end } = await undisturbed(scenario);
      let crashes = 0;
      for (let n = 1; ; n++) {
        const local = await prepare(scenario);
        try {
          const life = await live(local.files.dir, n);
          if (!life.died) break;
          crashes++;
          assert.deepEqual(await finish(local, scenario), end, `after effect ${n}, ${life.after}`);
        } finally {
          await cleanUp(local);
        }
      }
      t.diagnostic(`${scenario.name}: ${crashes} crashes, all came to the same end`);
    });
  }
}
