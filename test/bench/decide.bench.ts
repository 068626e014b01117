/** What one decision costs on five members, beside turning the same observation into text. */
import { decide } from "../../src/core/decide.ts";
import { edit, exited, healthy } from "../../src/core/testing/cluster.ts";
import { measure, tellLoad } from "./measure.ts";

const CALLS = 20_000;
const settled = healthy({ replicas: 5 });
/** One with something to do, one with something to wait for, one at rest. */
const worlds = [settled, edit(settled, { version: "3.7.3" }), exited(settled, "demo-3")];

function perCall(work: (index: number) => unknown): Promise<number> {
  const began = performance.now();
  for (let i = 0; i < CALLS; i++) work(i);
  return Promise.resolve(((performance.now() - began) / CALLS) * 1000);
}

tellLoad();
const world = (index: number) => worlds[index % worlds.length] ?? settled;
await measure({
  what: "decide() on 5 members",
  unit: "µs",
  goal: 50,
  run: () => perCall((index) => decide(world(index))),
  reference: {
    what: "JSON.stringify of the same observations",
    run: () => perCall((index) => JSON.stringify(world(index))),
  },
});
