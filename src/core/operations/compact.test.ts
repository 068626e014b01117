import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../decide.ts";
import type { Observation } from "../observation.ts";
import { answering, healthy } from "../testing/cluster.ts";
import { asking, outcomeOf } from "../testing/operations.ts";

const world = ["demo-1", "demo-2", "demo-3"].reduce<Observation>(
  (observation, name) => answering(observation, name, { revision: 1000 }),
  healthy(),
);

function ending(task: { revision?: number; retain?: number }, observation = world): string {
  const { phase, reason, revision } = outcomeOf(asking(observation, { kind: "compact", ...task }));
  return `${phase} ${reason} ${revision ?? "-"}`;
}

test("up to a revision, or but for the newest ones", () => {
  assert.equal(ending({ revision: 400 }), "Succeeded Completed 400");
  assert.equal(ending({ retain: 100 }), "Succeeded Completed 900");
  assert.equal(ending({ retain: 0 }), "Succeeded Completed 1000");
});

test("what cannot be compacted is rejected with the reason", () => {
  assert.equal(ending({ revision: 1001 }), "Rejected RevisionInFuture -");
  assert.equal(ending({ retain: 1000 }), "Rejected NothingToCompact -");
  const compacted = { ...world, etcd: { ...world.etcd, compacted: { revision: 500, at: 0 } } };
  assert.equal(ending({ revision: 500 }, compacted), "Rejected RevisionCompacted -");
  assert.equal(ending({ retain: 500 }, compacted), "Rejected NothingToCompact -");
});

test("the revision is settled at the start: writes that come meanwhile do not move it", () => {
  const running = asking(
    world,
    { kind: "compact", retain: 100 },
    {
      status: { phase: "Running", revision: 900 },
    },
  );
  const { act } = decide(answering(running, "demo-1", { revision: 5000 }));
  assert.ok(act?.action.kind === "Compact");
  assert.equal(act.action.revision, 900);
});
