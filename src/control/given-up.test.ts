import assert from "node:assert/strict";
import { test } from "node:test";
import { change, edit, exited } from "../core/testing/cluster.ts";
import { world } from "../core/testing/quorum-loss.ts";
import { viewOf } from "../core/view.ts";
import { assertSafe, InvariantViolation } from "./invariants.ts";

const action = { kind: "CreateOperation", operation: "demo-auto", approve: "x" } as const;
const automatic = edit(world, { recovery: { quorumLoss: "Automatic" } });

test("no recovery is approved without a person where data may still be somewhere, or where nobody asked for that", () => {
  assert.doesNotThrow(() => assertSafe(viewOf(automatic), action));
  assert.throws(() => assertSafe(viewOf(world), action), InvariantViolation);
  const damaged = change(exited(automatic, "demo-3", "data-corrupt"), "demo-3", {
    directory: { state: "damaged", why: "torn" },
  });
  assert.throws(() => assertSafe(viewOf(damaged), action), InvariantViolation);
});
