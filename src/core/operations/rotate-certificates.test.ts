import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AuthorityFacts, Observation } from "../observation.ts";
import { healthy, NOW, run } from "../testing/cluster.ts";
import { asking, outcomeOf, statusOf, stepsOf } from "../testing/operations.ts";

const STEADY: AuthorityFacts = { current: "old", phase: "Steady", expiresAt: NOW * 2, rotateAt: NOW * 2 };

function withAuthorities(world: Observation): Observation {
  return { ...world, platform: { ...world.platform, authorities: { client: STEADY, peer: STEADY } } };
}

const world = withAuthorities(healthy());

test("leaves are reissued member by member, then those of clients, without a restart", () => {
  assert.deepEqual(stepsOf(asking(world, { kind: "rotateCertificates" })), [
    "start operation task",
    "reissue certificates of demo-1",
    "step operation task",
    "reissue certificates of demo-2",
    "step operation task",
    "reissue certificates of demo-3",
    "step operation task",
    "reissue certificates of operator and users",
    "step operation task",
    "succeed operation task",
  ]);
});

test("a CA is rotated on both planes at once: each member restarts twice", () => {
  const asked = asking(world, { kind: "rotateCertificates", ca: true });
  const steps = stepsOf(asked);
  assert.deepEqual(steps.slice(0, 3), [
    "start operation task",
    "create successor of client CA",
    "create successor of peer CA",
  ]);
  assert.equal(steps.filter((step) => step.startsWith("stop workload")).length, 6);
  assert.deepEqual(steps.slice(-3), ["drop old client CA", "drop old peer CA", "succeed operation task"]);
  assert.equal(statusOf(run(asked)).phase, "Succeeded");
});

describe("it is rejected", () => {
  test("where Quorate issues no certificates", () => {
    const plain = healthy({ tls: { mode: "Disabled" } });
    const { phase, reason } = outcomeOf(asking(plain, { kind: "rotateCertificates" }));
    assert.deepEqual([phase, reason], ["Rejected", "NoManagedTLS"]);
  });
});
