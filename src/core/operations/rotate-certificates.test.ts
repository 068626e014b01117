import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AuthorityFacts, Observation } from "../observation.ts";
import { healthy, NOW, run } from "../testing/cluster.ts";
import { viewOf } from "../view.ts";
import { asking, outcomeOf, statusOf, stepsOf } from "../testing/operations.ts";
import { rotateCertificates } from "./rotate-certificates.ts";

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

describe("with certificates of another source asked for meanwhile", () => {
  const asked = asking(world, { kind: "rotateCertificates", ca: true });
  const status = { observedGeneration: 1, phase: "Running" } as const;
  const running = { ...asked, operations: asked.operations.map((one) => ({ ...one, status })) };
  const uid = "uid-of-task";
  const having = (client: Partial<AuthorityFacts>, peer: Partial<AuthorityFacts> = client): Observation => ({
    ...running,
    platform: {
      ...running.platform,
      authorities: { client: { ...STEADY, ...client }, peer: { ...STEADY, ...peer } },
    },
  });

  test("a rotation that is abandoned fails", () => {
    const undone = { phase: "Bundle", other: "new", turn: "Abort", operation: uid } as const;
    const { phase, reason } = outcomeOf(having(undone));
    assert.deepEqual([phase, reason], ["Failed", "NoManagedTLS"]);
  });

  test("it fails, too, once no CA of ours is left", () => {
    const { phase, reason } = outcomeOf(having({ given: true }));
    assert.deepEqual([phase, reason], ["Failed", "NoManagedTLS"]);
  });

  test("nothing is begun or reported while the spec asks for another CA", () => {
    const begins = { turn: "Begin", successor: "theirs" } as const;
    const progress = rotateCertificates.advance(
      viewOf(having(begins, { operation: uid })),
      { kind: "rotateCertificates", ca: true },
      running.operations[0]!,
    );
    assert.ok("next" in progress && "hold" in progress.next, JSON.stringify(progress));
  });
});
