/** What one decision costs on five members, and the status that follows from it. */
import { decide } from "../../../src/core/decide.ts";
import type { Observation } from "../../../src/core/observation.ts";
import { statusOf } from "../../../src/core/status/status.ts";
import { edit, exited, healthy } from "../../../src/core/testing/cluster.ts";
import { tellLoad } from "../measure.ts";
import { measureCalls } from "./per-call.ts";

const settled = healthy({ replicas: 5 });
const upgrading = edit(settled, { version: "3.7.3" });
const broken = exited(settled, "demo-3");

tellLoad();
// One at rest, one with something to do, one with something to wait for.
await measureCalls({
  what: "decide() on 5 members",
  goal: 50,
  inputs: [settled, upgrading, broken],
  run: (seen) => decide(seen),
});
const decided = (seen: Observation) => ({ seen, decision: decide(seen) });
await measureCalls({
  what: "statusOf() of 5 members",
  goal: 100,
  inputs: [decided(settled), decided(upgrading), decided(broken)],
  run: ({ seen, decision }) => statusOf(seen, decision, undefined),
});
