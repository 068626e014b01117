import assert from "node:assert/strict";
import { test } from "node:test";
import type { Observation } from "../core/observation.ts";
import { change, healthy } from "../core/testing/cluster.ts";
import { holding, world } from "../core/testing/quorum-loss.ts";
import { viewOf } from "../core/view.ts";
import { GoneSince } from "./gone-since.ts";

const uid = world.members.find(({ record }) => record.name === "demo-2")?.record.uid ?? "";

function startedAgain(sinceMs: number): Observation {
  const { workload } = healthy().members[1] ?? {};
  const { workload: ended } = world.members[1] ?? {};
  assert.ok(workload?.state === "running" && ended?.state === "exited");
  const { cause, detail } = ended;
  return change(world, "demo-2", {
    workload: { ...workload, since: world.now - sinceMs, lastEnd: { cause, detail } },
  });
}

test("the time to come back begins with the proof, and anew after every break", () => {
  const gone = new GoneSince();
  const look = (observation: Observation, at: number) => {
    gone.see(viewOf(observation), at);
    return gone.of(uid);
  };
  const down = change(world, "demo-2", {
    workload: { state: "absent" },
    directory: { state: "reading" },
    unhealthySince: 0,
  });
  assert.equal(look(down, 10), undefined, "it is down, and nobody has looked");
  assert.equal(look(world, 20), 20);
  assert.equal(look(world, 30), 20);
  assert.equal(look(startedAgain(1_000), 40), 20, "a kubelet tries it once more");
  assert.equal(look(startedAgain(30_000), 50), undefined, "it runs: it may have found its data");
  assert.equal(look(startedAgain(1_000), 60), undefined);
  assert.equal(look(world, 70), 70);
  assert.equal(look(holding(world, "demo-2"), 80), undefined);
  assert.equal(look(world, 90), 90);
});
